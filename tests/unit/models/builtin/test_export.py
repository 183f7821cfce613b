import json
from pathlib import Path

import pytest
import torch

from models.builtin.export import export
from models.builtin.train import new_pieces
from models.builtin.vocabulary import build_tokenizer
from models.checkpoint import read_checkpoint
from models.text import ChatText

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(new_pieces(0).model, build_tokenizer(), tmp_path_factory.mktemp("model"))


def test_transformers_loads_the_folder_unchanged_and_finds_every_weight(folder: Path) -> None:
    from transformers import AutoTokenizer, Qwen3VLForConditionalGeneration
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # it leaves a thread behind
    model, report = Qwen3VLForConditionalGeneration.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert next(model.parameters()).dtype is torch.bfloat16
    text = "刚才红色圆形 What happened at 14:03:05? <|im_end|>\n"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer(text).input_ids == build_tokenizer().encode(text).ids


def test_the_weights_are_small_enough_to_come_with_the_code(folder: Path) -> None:
    assert (folder / "model.safetensors").stat().st_size < 15_000_000


def test_the_service_reads_the_folder_as_any_checkpoint(folder: Path) -> None:
    checkpoint = read_checkpoint(str(folder), frame_tokens=32, window_tokens=2_048)
    assert checkpoint.feature_width == 384
    assert checkpoint.weights_type == "bfloat16"
    assert checkpoint.pictures.cell_px == 32
    chat = ChatText.load(checkpoint)
    assert chat.tokens.im_end in chat.ends


def test_the_chat_template_writes_turns_as_the_service_does(folder: Path) -> None:
    from transformers import AutoTokenizer

    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Q"}]},
    ]
    written = AutoTokenizer.from_pretrained(folder).apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert written == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>Q<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_exporting_leaves_the_model_in_training_as_it_was(tmp_path: Path) -> None:
    model = new_pieces(1).model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    export(model, build_tokenizer(), tmp_path)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "qwen3_vl"
