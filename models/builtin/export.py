"""Writes the trained model as a Hugging Face folder that transformers and vLLM load unchanged. Needs torch."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from models.builtin.architecture import CONTEXT_TOKENS, FRAME_TOKENS, PICTURES
from models.builtin.vocabulary import special_ids

CHAT_TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string %}{{- message.content }}"
    "{%- else %}{%- for part in message.content %}"
    "{%- if part.type in ('image', 'image_url') %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif 'text' in part %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
"""The same turns as ``models.chat`` writes them."""


def export(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Write config, bf16 weights, tokenizer, picture settings and chat template into ``folder``, and return it.

    ``model`` is left as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.to(torch.bfloat16).contiguous() for name, value in model.state_dict().items()}
    del weights["lm_head.weight"]  # tied: the embedding's again
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = model.config.to_diff_dict()
    config["architectures"], config["dtype"] = [type(model).__name__], "bfloat16"
    _write(folder / "config.json", config)
    special = special_ids(tokenizer)
    end = [special["<|im_end|>"], special["<|endoftext|>"]]
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", _TOKENIZER)
    _write(folder / "generation_config.json", {"do_sample": False, "eos_token_id": end})
    _write(folder / "preprocessor_config.json", _PICTURES)
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE + "\n")
    return folder


_TOKENIZER: dict[str, Any] = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "unk_token": None,
    "bos_token": None,
    "model_max_length": CONTEXT_TOKENS,
}

_PICTURES: dict[str, Any] = {
    "image_processor_type": "Qwen2VLImageProcessorFast",
    "processor_class": "Qwen3VLProcessor",
    "size": {"shortest_edge": 4 * PICTURES.cell_px**2, "longest_edge": FRAME_TOKENS * PICTURES.cell_px**2},
    "patch_size": PICTURES.patch_px,
    "temporal_patch_size": PICTURES.temporal,
    "merge_size": PICTURES.merge,
    "image_mean": list(PICTURES.mean),
    "image_std": list(PICTURES.std),
}


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
