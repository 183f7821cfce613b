from pathlib import Path

import pytest
import torch

from models.builtin.keeping import StateFile

pytestmark = pytest.mark.torch


def test_what_was_written_last_is_read_and_nothing_half_written_stays(tmp_path: Path) -> None:
    kept = StateFile(tmp_path / "deep" / "state.pt")
    assert kept.read() is None
    for step in (1, 2):
        kept.write({"step": step, "weights": torch.ones(2)})
    state = kept.read()
    assert state is not None
    assert state["step"] == 2
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["state.pt"]
