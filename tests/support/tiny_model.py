"""Qwen-VL checkpoints of random weights, small enough for any test: real shapes, real files, no sense.

``build_tiny_model`` writes a Hugging Face folder (config, safetensors, byte-level tokenizer with the Qwen special
tokens, picture processor settings, chat template) that transformers loads unchanged, in well under a second after
its imports. ``tiny_model_folder`` is a session fixture.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.clock import ServiceClock
from core.meter import TallyMeter
from models.engine import EngineSettings

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
PLAIN_ADDED_TOKENS = ("<tool_call>", "</tool_call>", "<think>", "</think>")

_CORPUS = (
    "You watch a camera. A white van stopped at [14:03:05] and left at [14:03:41].",
    "What just happened at the gate? Nothing moved in the last thirty seconds.",
    "The person in the red coat walked from left to right, then came back at [09:10:11.5].",
    "<|im_start|> is only text here, and so is <|image_pad|>.",
    "刚刚发生了什么？门口没有动静。",
)

CHAT_TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string %}{{- message.content }}"
    "{%- else %}{%- for part in message.content %}"
    "{%- if part.type == 'image' %}{{- '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- else %}{{- part.text }}{%- endif %}{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


@dataclass(frozen=True, slots=True)
class TinyShape:
    """Sizes of the model; the defaults give about half a million weights.

    Attributes:
        spread: Standard deviation of the random weights as a multiple of 1/sqrt(fan-in); above 1 the model has
            strong opinions, so that equal computations give equal tokens whatever the rounding.
    """

    text_width: int = 64
    text_layers: int = 3
    text_heads: int = 4
    kv_heads: int = 2
    vision_width: int = 48
    vision_layers: int = 3
    vision_heads: int = 2
    context_tokens: int = 8_192
    spread: float = 1.5


TINY = TinyShape()
SMALL = TinyShape(
    text_width=256, text_layers=4, text_heads=8, kv_heads=2, vision_width=128, vision_layers=4, vision_heads=4
)
"""About 5 million weights: the size that speed is measured with."""


def build_tiny_model(
    folder: Path,
    *,
    family: str = "qwen3_vl",
    seed: int = 0,
    shape: TinyShape = TINY,
    dtype: str = "float32",
    stop_tokens: tuple[int, ...] = (),
) -> Path:
    """Write a checkpoint into ``folder`` (made if need be) and return it. Equal arguments give equal weights.

    ``family`` is a model type of ``models.checkpoint.FAMILIES``. ``stop_tokens`` end an answer besides the usual ones, so that a test can have a random model stop.
    """
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _build_tokenizer()
    config = AutoConfig.for_model(family, **_config(family, shape, tokenizer))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForImageTextToText.from_config(config)
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                fan_in = 1 if "embed" in name else weight.shape[1:].numel()
                if ".experts." in name:  # each expert's matrix lies below another in one block
                    fan_in = weight.shape[-1]
                torch.nn.init.normal_(weight, std=shape.spread / fan_in**0.5)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    end = [tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("<|endoftext|>")]
    _write_json(folder / "generation_config.json", {"do_sample": False, "eos_token_id": [*end, *stop_tokens]})
    patch_px = config.vision_config.patch_size
    _write_json(folder / "preprocessor_config.json", _PROCESSOR | {"patch_size": patch_px})
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(folder / "tokenizer_config.json", _TOKENIZER_CONFIG)
    return folder


@pytest.fixture(scope="session")
def tiny_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint, built once per session. Also keeps torch to one thread."""
    import torch

    torch.set_num_threads(1)
    return build_tiny_model(tmp_path_factory.mktemp("tiny-model") / "tiny-qwen3-vl")


_PROCESSOR: dict[str, Any] = {
    "image_processor_type": "Qwen2VLImageProcessorFast",
    "size": {"shortest_edge": 65_536, "longest_edge": 16_777_216},
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "processor_class": "Qwen3VLProcessor",
}

_TOKENIZER_CONFIG: dict[str, Any] = {
    "tokenizer_class": "Qwen2Tokenizer",
    "eos_token": "<|im_end|>",
    "pad_token": "<|endoftext|>",
    "unk_token": None,
    "bos_token": None,
    "model_max_length": 262_144,
}


def _build_tokenizer() -> Any:
    from tokenizers import (
        AddedToken,
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        trainers,
    )

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    words = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=360, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(_CORPUS, trainer)
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIAL_TOKENS]
    )
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in PLAIN_ADDED_TOKENS])
    return tokenizer


def _config(family: str, shape: TinyShape, tokenizer: Any) -> dict[str, Any]:
    return {
        "text_config": _text_config(shape, tokenizer) | _TEXT_OF[family](shape),
        "vision_config": _vision_config(shape) | _VISION_OF[family](shape),
        "image_token_id": tokenizer.token_to_id("<|image_pad|>"),
        "video_token_id": tokenizer.token_to_id("<|video_pad|>"),
        "vision_start_token_id": tokenizer.token_to_id("<|vision_start|>"),
        "vision_end_token_id": tokenizer.token_to_id("<|vision_end|>"),
        "tie_word_embeddings": False,
    }


def _text_config(shape: TinyShape, tokenizer: Any) -> dict[str, Any]:
    return {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": shape.text_width,
        "intermediate_size": shape.text_width * 3,
        "num_hidden_layers": shape.text_layers,
        "num_attention_heads": shape.text_heads,
        "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": shape.context_tokens,
    }


def _vision_config(shape: TinyShape) -> dict[str, Any]:
    return {
        "depth": shape.vision_layers,
        "num_heads": shape.vision_heads,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }


def _rope(shape: TinyShape) -> dict[str, Any]:
    half = shape.text_width // shape.text_heads // 2
    sections = [half - 2 * (half // 4), half // 4, half // 4]
    return {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": sections}


def _newer_text(shape: TinyShape) -> dict[str, Any]:
    head = shape.text_width // shape.text_heads
    return {"head_dim": head, "rope_parameters": _rope(shape) | {"mrope_interleaved": True}}


def _experts_text(shape: TinyShape) -> dict[str, Any]:
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": shape.text_width}
    return _newer_text(shape) | experts


def _older_text(shape: TinyShape) -> dict[str, Any]:
    return {"rope_parameters": _rope(shape), "bos_token_id": None, "eos_token_id": None}


def _newer_vision(shape: TinyShape) -> dict[str, Any]:
    return {
        "hidden_size": shape.vision_width,
        "intermediate_size": shape.vision_width * 2,
        "out_hidden_size": shape.text_width,
        "patch_size": 16,
        "num_position_embeddings": 144,
        "deepstack_visual_indexes": [0, 1],
    }


def _windowed_vision(shape: TinyShape) -> dict[str, Any]:
    return {
        "hidden_size": shape.vision_width,
        "intermediate_size": shape.vision_width * 2,
        "out_hidden_size": shape.text_width,
        "patch_size": 14,
        "window_size": 56,
        "fullatt_block_indexes": [shape.vision_layers - 1],
    }


def _oldest_vision(shape: TinyShape) -> dict[str, Any]:
    return {
        "embed_dim": shape.vision_width,
        "hidden_size": shape.text_width,
        "mlp_ratio": 2,
        "patch_size": 14,
    }


_TEXT_OF: Mapping[str, Callable[[TinyShape], dict[str, Any]]] = {
    "qwen3_vl": _newer_text,
    "qwen3_vl_moe": _experts_text,
    "qwen2_5_vl": _older_text,
    "qwen2_vl": _older_text,
}
_VISION_OF: Mapping[str, Callable[[TinyShape], dict[str, Any]]] = {
    "qwen3_vl": _newer_vision,
    "qwen3_vl_moe": _newer_vision,
    "qwen2_5_vl": _windowed_vision,
    "qwen2_vl": _oldest_vision,
}


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2))


@dataclass(frozen=True, slots=True)
class NoisePicture:
    """A picture of random pixels, equal for equal seeds and sizes; passes for a decoded frame."""

    seed: int
    width_px: int = 640
    height_px: int = 360

    def luma(self) -> NDArray[np.uint8]:
        return self.rgb(self.width_px, self.height_px)[:, :, 0]

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        return np.random.default_rng(self.seed).integers(0, 256, (height_px, width_px, 3), dtype=np.uint8)


class SpyRunner:
    """Drives a real runner, remembers what it was given, and fails or stalls where a test says so.

    Attributes:
        intakes: Every prompt that got a place, in order.
        fail: Names of the next steps to fail, such as ``["decode"]``; each is used up once.
        gate: Steps wait while it is not set.
        batches: Sizes of the decode steps so far.
        tokens: Every token chosen so far, in order.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.intakes: list[Any] = []
        self.fail: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[int] = []
        self.tokens: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self) -> None:
        self._maybe_fail("load")
        self._inner.load()

    def encode(self, batch: Any) -> Any:
        self._maybe_fail("encode")
        return self._inner.encode(batch)

    def open(self, intake: Any, sampling: Any, request_id: Any) -> Any:
        self.intakes.append(intake)
        return self._inner.open(intake, sampling, request_id)

    def prefill(self, answering: Any, tokens: int) -> Any:
        self._maybe_fail("prefill")
        token = self._inner.prefill(answering, tokens)
        self.tokens += [] if token is None else [token]
        return token

    def step(self, batch: Any) -> Any:
        self.batches.append(len(batch))
        self._maybe_fail("decode")
        tokens = self._inner.step(batch)
        self.tokens += tokens
        return tokens

    def _maybe_fail(self, step: str) -> None:
        assert self.gate.wait(10), "nobody opened the gate"
        if step in self.fail:
            self.fail.remove(step)
            raise RuntimeError(f"scripted failure of {step}")


@asynccontextmanager
async def tiny_engine(folder: Path, **changes: Any) -> AsyncIterator[tuple[Any, SpyRunner, TallyMeter]]:
    """Yield a started engine on a checkpoint, with its spied-on runner and meter.

    ``changes`` go into ``EngineSettings``; computes in fp32, so that batches change no token.
    """
    from models.opening import LocalModel, _model_runner, open_engine

    spies: list[SpyRunner] = []

    def runner(checkpoint: Any, settings: Any) -> SpyRunner:
        spies.append(SpyRunner(_model_runner(checkpoint, settings)))
        return spies[0]

    meter = TallyMeter()
    choice = LocalModel(
        str(folder),
        frame_tokens=24,
        settings=EngineSettings(**{"device": "cpu", "dtype": "float32", "cpu_threads": 1} | changes),
    )
    with ThreadPoolExecutor(2) as executor:
        engine = open_engine(choice, executor=executor, clock=ServiceClock(), meter=meter, runner=runner)
        await engine.start()
        try:
            yield engine, spies[0], meter
        finally:
            spies[0].gate.set()
            await engine.aclose()


async def eventually(condition: Callable[[], bool], *, within_s: float = 5.0) -> None:
    """Wait until a condition holds; fail if it does not within the time given."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.002)
