"""What the benches of vLLM stand on: a random model that speaks, pictures, and frames with features of its own tower."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.rig import CACHE
from core.clock import ServiceClock
from core.frames import Features
from core.meter import NullMeter
from models.checkpoint import Checkpoint
from models.opening import LocalModel, open_tower
from sampler.jpeg import encode_jpeg
from tests.support.pictures import ArrayPicture
from tests.support.tiny_model import TinyShape, build_tiny_model

FRAME_TOKENS = 80
SIZE = (
    320,
    256,
)  # as many cells of 32 pixels as a frame has tokens: pixels and ids cost the decoder the same
ENCODED = 16


def speaking_model(name: str, shape: TinyShape) -> Path:
    """Return a random Qwen3-VL that says letters and digits only; made once, then kept.

    Of a model that says anything, most tokens are pieces of characters, which no asker hears, and some end the answer.
    """
    folder = CACHE / name
    if not folder.exists():
        draft = folder.with_name(f"{name}.part")
        build_tiny_model(draft, shape=shape)
        make_speaking(draft)
        draft.rename(folder)
    return folder


def make_speaking(folder: Path) -> None:
    """Change a checkpoint's output layer so that only letters and digits can be the likeliest token."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    head = weights["lm_head.weight"]
    said = sayable(json.loads((folder / "tokenizer.json").read_text()))
    kept = head[said].clone()
    head.zero_()  # the likeliest of many random ones is always above that
    head[said] = kept
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def sayable(tokenizer: Mapping[str, Any]) -> list[int]:
    """Return the tokens of a tokenizer file (JSON) that are letters and digits."""
    vocabulary: Mapping[str, int] = tokenizer["model"]["vocab"]
    return sorted(number for token, number in vocabulary.items() if token.isascii() and token.isalnum())


def pictures() -> Iterator[NDArray[np.uint8]]:
    """Yield pictures of which no two are alike: coarse noise, which a JPEG keeps."""
    width, height = SIZE
    for seed in count():
        coarse = np.random.default_rng(seed).integers(0, 256, (height // 32, width // 32, 3), dtype=np.uint8)
        yield np.kron(coarse, np.ones((32, 32, 1), np.uint8))


def jpegs() -> Iterator[bytes]:
    """Yield the same pictures as they are stored."""
    return (encode_jpeg(picture, 80) for picture in pictures())


async def encoded(checkpoint: Checkpoint) -> list[Features]:
    """Return the features of a few pictures, from the model's own tower."""
    choice = LocalModel(str(checkpoint.folder), frame_tokens=FRAME_TOKENS)
    with ThreadPoolExecutor(1) as executor:
        tower = await asyncio.to_thread(
            open_tower, choice, executor=executor, clock=ServiceClock(), meter=NullMeter()
        )
        await tower.start()
        try:
            return [
                await tower.encode(ArrayPicture(picture))
                for picture, _ in zip(pictures(), range(ENCODED), strict=False)
            ]
        finally:
            await tower.aclose()
