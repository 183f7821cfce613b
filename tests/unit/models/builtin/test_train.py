from pathlib import Path

import pytest

from models.builtin import train
from models.builtin.keeping import StateFile

pytestmark = pytest.mark.torch


def test_the_stages_follow_one_another_and_each_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "CHECKING_COUNT", 1)
    common = ["--folder", str(tmp_path), "--check-rows", "1", "--count", "1"]
    train.main(["tower", "--steps", "1", "--frames", "2", *common])
    train.main(["tower", "--steps", "2", "--frames", "2", *common])
    train.main(["clips", *common])
    train.main(["language", "--plan", "1:1", "--tokens", "500", *common])
    train.main(["language", "--plan", "1:1,2:1", "--tokens", "500", *common])
    train.main(["export", "--out", str(tmp_path / "model"), *common])
    steps = [
        state["step"]
        for name in ("tower", "language")
        if (state := StateFile(tmp_path / f"{name}.pt").read())
    ]
    assert steps == [2, 2]
    weights = tmp_path / "model" / "model.safetensors"
    trained = weights.read_bytes()
    again = ["--folder", str(tmp_path / "again"), "--check-rows", "1"]
    (tmp_path / "again").mkdir()
    (tmp_path / "clips").rename(tmp_path / "again" / "clips")
    train.main(
        ["language", "--plan", "1:1", "--tokens", "500", "--begin-with", str(tmp_path / "model"), *again]
    )
    train.main(["export", "--out", str(tmp_path / "model"), *again])
    assert weights.stat().st_size == len(trained)
    assert weights.read_bytes() != trained


def test_the_language_stage_wants_a_tower_and_export_a_model(tmp_path: Path) -> None:
    for stage in ("language", "export"):
        with pytest.raises(SystemExit):
            train.main([stage, "--folder", str(tmp_path)])
