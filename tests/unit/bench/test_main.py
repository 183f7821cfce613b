import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.__main__ import main
from bench.report import Figure
from bench.rig import PartMissing


def run(monkeypatch: pytest.MonkeyPatch, figures: list[Figure] | Exception, *words: str) -> int:
    async def measure(*, quick: bool, **own: object) -> list[Figure]:
        if isinstance(figures, Exception):
            raise figures
        return figures

    monkeypatch.setattr(importlib, "import_module", lambda _name: SimpleNamespace(measure=measure))
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    return main()


GOOD = Figure("glass.p95", 0.4, "s", (0.2, 0.5), 10)
SLOW = Figure("glass.p95", 1.4, "s", (0.2, 1.5), 10)


def test_met_targets_end_with_that_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [GOOD], "glass", "--check") == 0
    assert capsys.readouterr().out.rstrip().endswith("MET: 1 of 1 targets")


def test_asking_may_be_measured_in_vllm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    share = Figure("ask_vllm.own_share.64.p95", 4.0, "ms", (2.0, 5.0), 12)
    assert run(monkeypatch, [share], "ask", "--decoder", "vllm", "--check") == 2
    assert "ask_vllm.ids_over_pixels.32" in capsys.readouterr().out


def test_a_missed_target_fails_only_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, [SLOW], "glass") == 0
    assert run(monkeypatch, [SLOW], "glass", "--check") == 1


def test_an_absent_part_or_row_is_exit_code_two_in_every_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, PartMissing("no RTSP server"), "glass", "--check") == 2
    assert run(monkeypatch, [], "glass") == 2
    assert capsys.readouterr().out.rstrip().endswith("ABSENT: glass.p95")


def test_rows_are_written_as_json_with_their_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(monkeypatch, [GOOD], "glass", "--json", str(tmp_path / "rows.json"))
    [row] = json.loads((tmp_path / "rows.json").read_text())
    assert set(row) == {"name", "value", "unit", "spread", "n", "target", "at_least", "met", "machine"}
    assert (row["name"], row["met"]) == ("glass.p95", True)
    assert "cores" in row["machine"]


def test_the_accuracy_bench_is_handed_its_own_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handed: list[dict[str, object]] = []

    async def measure(**options: object) -> list[Figure]:
        handed.append(options)
        return []

    monkeypatch.setattr(importlib, "import_module", lambda _name: SimpleNamespace(measure=measure))
    monkeypatch.setattr(sys, "argv", ["bench", "accuracy", "--scenes", "7", "--folder", str(tmp_path)])
    main()
    assert handed == [{"quick": False, "scenes": 7, "folder": tmp_path}]


def test_the_bench_of_the_gpu_is_told_where_to_write_and_on_which_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    handed: list[dict[str, object]] = []

    async def measure(**options: object) -> list[Figure]:
        handed.append(options)
        return []

    monkeypatch.setattr(importlib, "import_module", lambda _name: SimpleNamespace(measure=measure))
    monkeypatch.setattr(sys, "argv", ["bench", "gpu", "--quick", "--out", str(tmp_path / "gpu.md")])
    assert main() == 0
    (options,) = handed
    assert (options["quick"], options["out"]) == (True, tmp_path / "gpu.md")
    assert "cores" in str(options["machine"])


def test_all_leaves_out_what_takes_parts_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    async def measure(**_options: object) -> list[Figure]:
        return []

    def load(name: str) -> SimpleNamespace:
        loaded.append(name)
        return SimpleNamespace(measure=measure)

    monkeypatch.setattr(importlib, "import_module", load)
    monkeypatch.setattr(sys, "argv", ["bench", "all", "--quick"])
    main()
    assert "bench.int8" in loaded
    assert not {"bench.split", "bench.shapes", "bench.gpu"} & set(loaded)
