import json
from pathlib import Path

import numpy as np
import pytest

from bench.vllm_rig import SIZE, jpegs, make_speaking, pictures, sayable


def test_only_letters_and_digits_are_sayable() -> None:
    vocabulary = {"a": 0, "Ġthe": 1, "ing": 2, "Ċ": 3, "7": 4, "é": 5, "!": 6, "<|im_end|>": 7}
    assert sayable({"model": {"vocab": vocabulary}}) == [0, 2, 4]


def test_pictures_have_the_size_they_are_asked_about_with_and_differ() -> None:
    first, second = (picture for picture, _ in zip(pictures(), range(2), strict=False))
    assert first.shape == (SIZE[1], SIZE[0], 3)
    assert not np.array_equal(first, second)
    assert next(jpegs()).startswith(b"\xff\xd8")


@pytest.mark.torch
def test_a_speaking_model_can_only_choose_what_is_sayable(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    vocabulary = {chr(32 + number): number for number in range(95)}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    dice = torch.Generator().manual_seed(1)
    other = torch.ones(3)
    before = {"lm_head.weight": torch.randn(95, 32, generator=dice), "other": other}
    save_file(before, tmp_path / "model.safetensors")

    make_speaking(tmp_path)
    after = load_file(tmp_path / "model.safetensors")
    scores = torch.randn(64, 32, generator=dice) @ after["lm_head.weight"].T
    assert set(scores.argmax(dim=1).tolist()) <= set(sayable({"model": {"vocab": vocabulary}}))
    assert torch.equal(after["other"], other)
