import psutil
import pytest

from bench.rig import PartMissing
from bench.shapes import MODELS, SMALLEST, _child, _folder, _room_missing
from models.plan_shape import shape_of
from tests.support.model_configs import CONFIGS


class Memory:
    def __init__(self, available: int) -> None:
        self.available = available


def test_a_model_that_does_not_fit_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = shape_of(CONFIGS[MODELS["4B"]], "4B")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(8_000_000_000))
    assert _room_missing(shape) == "it needs 11.5 GB of memory, 8.0 GB are there"
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(12_000_000_000))
    assert not _room_missing(shape)


def test_a_checkpoints_folder_is_gone_with_the_block() -> None:
    with _folder(SMALLEST) as folder:
        folder.mkdir()
        parent = folder.parent
        assert parent.is_dir()
    assert not parent.exists()


async def test_a_process_that_fails_is_a_missing_part_with_its_last_words() -> None:
    with pytest.raises(PartMissing, match="nonsense ended with 1: no such task: nonsense"):
        await _child("nonsense")
