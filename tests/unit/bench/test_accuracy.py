from collections import Counter
from contextlib import asynccontextmanager

import pytest

import bench.accuracy
from bench.accuracy import kinds_of, measure
from bench.rig import PartMissing
from models.builtin.wording import Asked
from tests.support.scripted_decoder import Script, ScriptedDecoder
from tests.unit.bench.test_accuracy_asking import PROFILE, FixedEncoder


def test_every_kind_is_asked_about_equally_often() -> None:
    lengths = (1, 1, 1, 2, 3)
    counts = Counter(kind for n in range(300) for some in kinds_of(n, lengths) for kind in some)
    even = counts.total() / len(Asked)
    assert set(counts) == set(Asked)
    assert all(0.8 * even < count < 1.2 * even for count in counts.values())
    assert [len(some) for some in kinds_of(5, lengths)] == list(lengths)


async def test_a_run_tells_its_tables_and_returns_a_row_for_every_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @asynccontextmanager
    async def opened(folder: object):
        yield ScriptedDecoder(Script.of("Nothing."), profile=PROFILE), FixedEncoder()

    monkeypatch.setattr(bench.accuracy, "opened", opened)
    told: list[str] = []
    rows = await measure(quick=True, scenes=2, tell=told.append)
    assert {row.name for row in rows} == {
        f"accuracy.{kind}.{rule}" for kind in Asked for rule in ("exact", "true")
    }
    assert "questions about 2 scenes" in told[0]
    assert "of an even share" in told[-1]


async def test_a_checkpoint_that_is_not_there_is_a_missing_part(tmp_path) -> None:
    with pytest.raises(PartMissing, match="cannot load the model"):
        await measure(quick=True, scenes=1, folder=tmp_path, tell=lambda _text: None)
