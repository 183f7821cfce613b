"""Shapes from configurations; weights counted as the published checkpoints and transformers have them."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import ModelNotLoadable
from models.plan_shape import shape_of
from tests.support.model_configs import CONFIGS, QWEN3_VL_2B

# Parameters of the published checkpoints, as their pages say.
PUBLISHED = {
    "qwen3_vl 2B": 2_127_532_032,
    "qwen3_vl 4B": 4_437_815_808,
    "qwen3_vl 8B": 8_767_123_696,
    "qwen3_vl_moe 30B-A3B": 31_070_754_032,
    "qwen2_5_vl 3B": 3_754_622_976,
    "qwen2_5_vl 7B": 8_292_166_656,
    "qwen2_vl 2B": 2_208_985_600,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_weights_are_those_of_the_published_checkpoint(name: str) -> None:
    assert shape_of(CONFIGS[name], name).weights() == PUBLISHED[name]


def test_features_are_as_wide_as_the_model_with_its_deepstack_layers() -> None:
    assert shape_of(QWEN3_VL_2B, "2B").feature_width == 2048 * 4
    assert shape_of(CONFIGS["qwen2_5_vl 3B"], "3B").feature_width == 2048


def test_the_built_in_model_is_counted_to_the_byte_of_its_weights_file() -> None:
    folder = Path(__file__).resolve().parents[3] / "models" / "builtin" / "weights"
    shape = shape_of(json.loads((folder / "config.json").read_text()), "builtin")
    file = folder / "model.safetensors"
    header_bytes = 8 + int.from_bytes(file.read_bytes()[:8], "little")
    assert shape.weights_type == "bfloat16"
    assert shape.weights() * 2 == file.stat().st_size - header_bytes


@pytest.mark.torch
@pytest.mark.parametrize("name", PUBLISHED)
def test_transformers_makes_as_many_weights(name: str) -> None:
    import torch
    import transformers

    from models.checkpoint import FAMILIES

    config = copy.deepcopy(CONFIGS[name])
    kind = FAMILIES[str(config["model_type"])]
    made: Any = getattr(transformers, kind.removesuffix("ForConditionalGeneration") + "Config")(**config)
    with torch.device("meta"):
        model = getattr(transformers, kind)(made)
    model.tie_weights()
    assert shape_of(config, name).weights() == sum(weight.numel() for weight in model.parameters())
    assert shape_of(made.to_dict(), name).weights() == shape_of(config, name).weights()


def test_values_of_the_text_model_may_stand_on_the_first_level() -> None:
    nested = CONFIGS["qwen2_5_vl 3B"]
    flat = {**nested["text_config"], **{k: v for k, v in nested.items() if k != "text_config"}}
    assert shape_of(flat, "flat").weights() == shape_of(nested, "nested").weights()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model_type": "llava"}, "its type is 'llava'; livelens plans for qwen3_vl"),
        ({"model_type": None}, "its type is None"),
        ({"vision_config": None}, "config.json has no vision_config"),
        ({"text_config": {}}, "text_config.hidden_size is missing"),
        (
            {"text_config": {"hidden_size": "big"}},
            "text_config.hidden_size = 'big' is no whole number above 0",
        ),
    ],
)
def test_a_configuration_it_does_not_understand_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ModelNotLoadable, match="cannot load the model 'odd'") as raised:
        shape_of({**QWEN3_VL_2B, **change}, "odd")
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("part", "change", "sentence"),
    [
        ("text_config", {"num_key_value_heads": 3}, "num_key_value_heads = 3 does not divide"),
        ("text_config", {"use_sliding_window": True}, "sliding attention is not planned for"),
        ("text_config", {"vocab_size": -1}, "vocab_size = -1 is no whole number"),
        ("vision_config", {"out_hidden_size": 99}, "its tokens are 99 wide, the text model's 2048"),
        ("vision_config", {"deepstack_visual_indexes": "all"}, "is no list of layer numbers"),
    ],
)
def test_a_value_that_makes_no_sense_is_named_with_its_place(
    part: str, change: dict[str, Any], sentence: str
) -> None:
    config = {**QWEN3_VL_2B, part: {**QWEN3_VL_2B[part], **change}}
    with pytest.raises(ModelNotLoadable) as raised:
        shape_of(config, "odd")
    assert sentence in str(raised.value)
    assert part in str(raised.value)
