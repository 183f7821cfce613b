"""The built-in model's architecture: a Qwen3-VL of 5.7 million weights. Imports torch where a model is made.

vision: 4 layers of 128, patches of 16 px, 2 × 2 merged (a token sees 32 px), one DeepStack layer
text:   8 layers of 192, 6 heads of 32, vocabulary of about 1,070, embedding and output tied
"""

from typing import Any

from models.pictures import PictureRules

FRAME_TOKENS = 32
"""Most vision tokens of one frame: 4 × 7 for 16:9, 5 × 6 for 4:3."""

WINDOW_TOKENS = 512
"""Vision tokens of a question, 16 frames: what was learnt. More are thinned out by the rule for every model."""

CONTEXT_TOKENS = 4_096
PATCH_PX, MERGE, TEMPORAL = 16, 2, 2
VISION_WIDTH, TEXT_WIDTH = 128, 192

PICTURES = PictureRules(
    patch_px=PATCH_PX,
    merge=MERGE,
    temporal=TEMPORAL,
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
    rescale=1 / 255,
    frame_tokens=FRAME_TOKENS,
)
"""How training prepares pictures; the exported folder says the same to everybody else."""


def vision_config() -> dict[str, Any]:
    """Return the vision tower's part of ``config.json``."""
    return {
        "model_type": "qwen3_vl",
        "depth": 4,
        "hidden_size": VISION_WIDTH,
        "hidden_act": "gelu_pytorch_tanh",
        "intermediate_size": 4 * VISION_WIDTH,
        "num_heads": 4,
        "in_channels": 3,
        "patch_size": PATCH_PX,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": TEMPORAL,
        "out_hidden_size": TEXT_WIDTH,
        "num_position_embeddings": 256,
        "deepstack_visual_indexes": [1],
    }


def model_config(vocabulary_size: int, special: dict[str, int]) -> dict[str, Any]:
    """Return ``config.json`` for a vocabulary; ``special`` gives the ids of the Qwen special tokens by name."""
    end = special["<|im_end|>"]
    return {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "text_config": {
            "model_type": "qwen3_vl_text",
            "vocab_size": vocabulary_size,
            "hidden_size": TEXT_WIDTH,
            "intermediate_size": 3 * TEXT_WIDTH,
            "num_hidden_layers": 8,
            "num_attention_heads": 6,
            "num_key_value_heads": 6,
            "head_dim": 32,
            "hidden_act": "silu",
            "attention_bias": False,
            "rms_norm_eps": 1e-6,
            "max_position_embeddings": CONTEXT_TOKENS,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [6, 5, 5],
                "mrope_interleaved": True,
            },
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": end,
            "pad_token_id": special["<|endoftext|>"],
        },
        "vision_config": vision_config(),
        "image_token_id": special["<|image_pad|>"],
        "video_token_id": special["<|video_pad|>"],
        "vision_start_token_id": special["<|vision_start|>"],
        "vision_end_token_id": special["<|vision_end|>"],
        "tie_word_embeddings": True,
    }


def new_vision_tower() -> Any:
    """Return an untrained vision tower, Qwen3-VL's own class."""
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionModel

    tower = Qwen3VLVisionModel._from_config(
        Qwen3VLVisionConfig(**vision_config()), attn_implementation="sdpa"
    )
    tower.pos_embed.weight.data.add_(_places(tower.num_grid_per_side, VISION_WIDTH))
    return tower


def _places(side: int, width: int) -> Any:
    """Return what tells places apart from the start, shape (side², width): sines of row and column.

    With the library's own start, 40 times smaller than what patches add, no cell knew after 8,000 frames in which
    third of the picture it lies.
    """
    import torch

    waves = 0.5 ** torch.arange(width // 4) ** 0.5
    angles = torch.arange(side)[:, None] * 1.5 * waves[None, :]
    codes = torch.cat([angles.sin(), angles.cos()], dim=1)
    rows, columns = codes[:, None, :].expand(-1, side, -1), codes[None, :, :].expand(side, -1, -1)
    return 0.5 * torch.cat([rows, columns], dim=2).reshape(side * side, width)


def new_model(vocabulary_size: int, special: dict[str, int]) -> Any:
    """Return the untrained whole, Qwen3-VL's own class."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    config = Qwen3VLConfig(**model_config(vocabulary_size, special))
    return Qwen3VLForConditionalGeneration._from_config(config, attn_implementation="sdpa")
