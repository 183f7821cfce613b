import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from core.frames import FeatureType
from models.checkpoint import FAMILIES, read_checkpoint
from models.decoder import Reads
from models.errors import ModelNotLoadable
from tests.support.tiny_model import build_tiny_model, tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = pytest.mark.torch


@pytest.fixture
def folder(tiny_model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model_folder, tmp_path / "copy"))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_folder_says_what_callers_must_know_before_it_is_loaded(tiny_model_folder: Path) -> None:
    checkpoint = read_checkpoint(str(tiny_model_folder))

    assert checkpoint.profile.name == tiny_model_folder.name
    assert checkpoint.profile.reads is Reads.FEATURES
    assert checkpoint.profile.frame_tokens == 196
    assert checkpoint.profile.window_tokens == 8_192 * 3 // 4  # the tiny context holds no more
    assert checkpoint.feature_width == 64 * 3
    assert checkpoint.feature_type is FeatureType.BF16
    assert checkpoint.weights_type == "float32"
    assert checkpoint.pictures.cell_px == 32
    assert len(checkpoint.end_tokens) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_says_how_wide_its_features_are_and_how_large_its_patches(
    family: str, tmp_path: Path
) -> None:
    checkpoint = read_checkpoint(str(build_tiny_model(tmp_path, family=family)))
    deepstack = family.startswith("qwen3")

    assert checkpoint.feature_width == 64 * (3 if deepstack else 1)
    assert checkpoint.pictures.cell_px == (32 if deepstack else 28)
    assert checkpoint.context_tokens == 8_192


def test_picture_settings_that_are_left_out_are_those_transformers_takes(folder: Path) -> None:
    (folder / "preprocessor_config.json").write_text("{}")
    rules = read_checkpoint(str(folder)).pictures
    theirs = Qwen2VLImageProcessorPil()

    assert (rules.patch_px, rules.merge, rules.temporal) == (16, 2, 2)
    assert [*rules.mean, *rules.std] == [*theirs.image_mean, *theirs.image_std]


def test_budgets_can_be_set(tiny_model_folder: Path) -> None:
    checkpoint = read_checkpoint(str(tiny_model_folder), frame_tokens=32, window_tokens=2_048)

    assert checkpoint.profile.frame_tokens == checkpoint.pictures.frame_tokens == 32
    assert checkpoint.profile.window_tokens == 2_048


def test_the_encoder_version_is_twelve_hex_digits_and_the_same_for_a_copy(
    tiny_model_folder: Path, folder: Path
) -> None:
    version = read_checkpoint(str(tiny_model_folder)).encoder_version

    assert len(version) == 12
    int(version, 16)
    assert read_checkpoint(str(folder)).encoder_version == version
    assert read_checkpoint(str(folder)).profile.encoder_version == version


def test_another_training_other_settings_or_another_shape_is_another_encoder(
    folder: Path, tmp_path: Path
) -> None:
    versions = {read_checkpoint(str(folder)).encoder_version}
    versions.add(read_checkpoint(str(build_tiny_model(tmp_path / "seed", seed=1))).encoder_version)
    change(folder / "preprocessor_config.json", image_mean=[0.4, 0.4, 0.4])
    versions.add(read_checkpoint(str(folder)).encoder_version)
    change(folder / "config.json", hidden_act="relu")
    versions.add(read_checkpoint(str(folder)).encoder_version)

    assert len(versions) == 4


def test_float16_weights_keep_their_features_in_float16(tmp_path: Path) -> None:
    assert read_checkpoint(str(build_tiny_model(tmp_path, dtype="float16"))).feature_type is FeatureType.F16


def test_processor_settings_may_stand_in_the_newer_file(folder: Path) -> None:
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").unlink()
    (folder / "processor_config.json").write_text(
        json.dumps({"image_processor": settings | {"image_mean": [0.1, 0.2, 0.3]}})
    )

    assert read_checkpoint(str(folder)).pictures.mean == (0.1, 0.2, 0.3)


def test_what_is_missing_or_wrong_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    def why(model: object) -> str:
        with pytest.raises(ModelNotLoadable) as error:
            read_checkpoint(str(model))
        assert "\n" not in str(error.value)
        return str(error.value)

    assert "no such folder" in why(tmp_path / "nowhere")
    assert "it is a file" in why(folder / "config.json")
    assert "config.json is missing" in why(tmp_path)
    change(folder / "preprocessor_config.json", image_mean=["red"])
    assert "picture settings make no sense" in why(folder)
    (folder / "model.safetensors").unlink()
    assert "no weights" in why(folder)
    change(folder / "config.json", model_type="llama")
    assert "'llama'" in why(folder)
    assert "--model-url" in why(folder)
    (folder / "config.json").write_text("[1")
    assert "cannot be read" in why(folder)
    (folder / "config.json").write_text("[1]")
    assert "holds no object" in why(folder)


def test_a_hub_name_that_cannot_be_fetched_is_said_without_a_stack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelNotLoadable, match="nobody/nothing"):
        read_checkpoint("nobody/nothing")
