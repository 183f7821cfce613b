"""The tower alone encodes what the whole model encodes, bit for bit."""

import shutil
from pathlib import Path

import pytest
import torch

from core.frames import Features
from models.checkpoint import FAMILIES, Checkpoint, read_checkpoint
from models.compute import Compute
from models.errors import ModelNotLoadable
from models.pictures import prepare
from models.qwen_tower import QwenTower
from models.qwen_vl import QwenVL
from tests.support.tiny_model import NoisePicture, build_tiny_model

pytestmark = pytest.mark.torch

FP32 = Compute("cpu", "float32")


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A checkpoint of each family in turn."""
    torch.set_num_threads(1)
    folder = build_tiny_model(tmp_path_factory.mktemp("towers") / request.param, family=request.param)
    return read_checkpoint(str(folder), frame_tokens=24)


def test_a_tower_s_features_are_those_of_the_whole_model(checkpoint: Checkpoint) -> None:
    tower, whole = QwenTower(checkpoint, FP32), QwenVL(checkpoint, FP32, kept_bytes=0)
    tower.load()
    whole.load()
    batch = [prepare(NoisePicture(n, 640, 360 if n % 2 else 480), checkpoint.pictures) for n in range(3)]

    ours, theirs = tower.encode(batch), whole.encode(batch)

    assert all(isinstance(features, Features) for features in ours)
    assert ours == theirs


def test_a_tower_holds_no_weights_of_the_text(checkpoint: Checkpoint) -> None:
    tower = QwenTower(checkpoint, FP32)
    tower.load()
    held = sum(weight.numel() for name, weight in tower._model.named_parameters() if "visual" not in name)

    assert held < 10_000
    with pytest.raises(RuntimeError, match="answers nothing"):
        tower.open()


def test_a_tower_without_weights_is_named(checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint.folder, tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelNotLoadable):
        QwenTower(read_checkpoint(str(folder)), FP32).load()
