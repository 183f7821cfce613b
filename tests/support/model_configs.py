"""Configurations of published Qwen-VL checkpoints, cut down to the numbers that shapes depend on."""

from typing import Any

Config = dict[str, Any]

_TEXT3 = {
    "vocab_size": 151_936,
    "head_dim": 128,
    "num_key_value_heads": 8,
    "max_position_embeddings": 262_144,
}
_TOWER3 = {"patch_size": 16, "num_position_embeddings": 2304, "num_heads": 16}
_SMALL_TOWER = {
    **_TOWER3,
    "depth": 24,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "deepstack_visual_indexes": [5, 11, 17],
}
_LARGE_TOWER = {
    **_TOWER3,
    "depth": 27,
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "deepstack_visual_indexes": [8, 16, 24],
}
_TOWER25 = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "patch_size": 14}


def _config(kind: str, tied: bool, text: Config, vision: Config) -> Config:
    return {
        "model_type": kind,
        "dtype": "bfloat16",
        "tie_word_embeddings": tied,
        "text_config": {**text, "tie_word_embeddings": tied},
        "vision_config": vision,
    }


def _text(hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int, **more: int) -> Config:
    return {
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        **more,
    }


QWEN3_VL_2B = _config(
    "qwen3_vl",
    True,
    {**_TEXT3, **_text(2048, 6144, 28, 16, 8)},
    {**_SMALL_TOWER, "out_hidden_size": 2048},
)

CONFIGS: dict[str, Config] = {
    "qwen3_vl 2B": QWEN3_VL_2B,
    "qwen3_vl 4B": _config(
        "qwen3_vl",
        True,
        {**_TEXT3, **_text(2560, 9728, 36, 32, 8)},
        {**_SMALL_TOWER, "out_hidden_size": 2560},
    ),
    "qwen3_vl 8B": _config(
        "qwen3_vl",
        False,
        {**_TEXT3, **_text(4096, 12_288, 36, 32, 8)},
        {**_LARGE_TOWER, "out_hidden_size": 4096},
    ),
    "qwen3_vl_moe 30B-A3B": _config(
        "qwen3_vl_moe",
        False,
        {
            **_TEXT3,
            **_text(2048, 6144, 48, 32, 4),
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
        },
        {**_LARGE_TOWER, "out_hidden_size": 2048},
    ),
    "qwen2_5_vl 3B": _config(
        "qwen2_5_vl",
        True,
        {"vocab_size": 151_936, "max_position_embeddings": 128_000, **_text(2048, 11_008, 36, 16, 2)},
        {**_TOWER25, "out_hidden_size": 2048},
    ),
    "qwen2_5_vl 7B": _config(
        "qwen2_5_vl",
        False,
        {"vocab_size": 152_064, "max_position_embeddings": 128_000, **_text(3584, 18_944, 28, 28, 4)},
        {**_TOWER25, "out_hidden_size": 3584},
    ),
    "qwen2_vl 2B": _config(
        "qwen2_vl",
        True,
        {"vocab_size": 151_936, "max_position_embeddings": 32_768, **_text(1536, 8960, 28, 12, 2)},
        {
            "depth": 32,
            "embed_dim": 1280,
            "hidden_size": 1536,
            "mlp_ratio": 4,
            "num_heads": 16,
            "patch_size": 14,
        },
    ),
}
