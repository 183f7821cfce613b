"""Where a configuration is found; mistakes are one line."""

import json
from pathlib import Path

import pytest

from models.errors import ModelNotLoadable
from models.plan_config import read_shape, usual_tokens
from tests.support.model_configs import QWEN3_VL_2B


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text)
    return folder


def test_a_folder_and_its_file_are_the_same_model(tmp_path: Path) -> None:
    folder = written(tmp_path / "Qwen3-VL-2B", json.dumps(QWEN3_VL_2B))
    by_folder, by_file = read_shape(str(folder)), read_shape(str(folder / "config.json"))
    assert by_folder == by_file
    assert by_folder.name == "Qwen3-VL-2B"
    assert usual_tokens(str(folder), by_folder) == (196, 8192)


def test_the_built_in_model_is_known_by_name_and_has_its_own_sizes() -> None:
    from models.builtin import architecture

    shape = read_shape("builtin")
    assert shape.family == "qwen3_vl"
    assert usual_tokens("builtin", shape) == (architecture.FRAME_TOKENS, architecture.WINDOW_TOKENS)


def test_a_small_context_bounds_the_usual_question(tmp_path: Path) -> None:
    config = {**QWEN3_VL_2B, "text_config": {**QWEN3_VL_2B["text_config"], "max_position_embeddings": 4096}}
    folder = str(written(tmp_path / "m", json.dumps(config)))
    assert usual_tokens(folder, read_shape(folder)) == (196, 3072)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "config.json cannot be read"), ("[]", "config.json holds no object"), ("{}", "its type is None")],
)
def test_a_file_that_is_no_configuration_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(ModelNotLoadable, match="cannot load the model") as raised:
        read_shape(str(written(tmp_path / "m", text)))
    assert sentence in str(raised.value)


def test_an_empty_folder_and_a_name_that_is_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotLoadable, match=r"there is no config\.json in it"):
        read_shape(str(tmp_path))
    with pytest.raises(ModelNotLoadable, match="no hub name"):
        read_shape("nothing-like-this")


def test_a_hub_name_that_cannot_be_fetched_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    huggingface_hub = pytest.importorskip("huggingface_hub")
    from huggingface_hub.errors import LocalEntryNotFoundError

    def away(name: str, file: str) -> str:
        raise LocalEntryNotFoundError("no network here")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", away)
    with pytest.raises(ModelNotLoadable, match=r"give a folder with its config\.json"):
        read_shape("Qwen/Qwen3-VL-2B-Instruct")
