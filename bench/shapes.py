"""Real shapes without weights: Qwen3-VL-2B and 4B of random numbers, beside what ``livelens plan`` says of them.

    configuration ─▶ random checkpoint ─▶ a process of its own: load, encode, answer ─▶ measured
                 └─▶ models.plan ─▶ planned                                          └─▶ ratios

Each model that fits into the memory there is runs whole in bf16, in the engine's own code: the memory that its process grows by,
the width of its features, the bytes of its attention state. What a step and the tower need beside the weights is read at
full width with two layers in fp32, from torch's own account of memory: layers follow one another and share it. A whole run
also has the 2B in vLLM, asked by frame id.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from bench.report import Figure
from bench.rig import CACHE, PartMissing
from bench.shapes_tally import (
    STEP_TOKENS,
    TOWER_TOKENS,
    Layers,
    Served,
    Whole,
    layer_ratios,
    ratio_figures,
    served_figures,
    served_ratios,
    whole_figures,
    whole_ratios,
)
from models.plan import NumberType, weights_bytes
from models.plan_shape import ModelShape, shape_of
from tests.support.model_configs import CONFIGS

MODELS = {"2B": "qwen3_vl 2B", "4B": "qwen3_vl 4B"}
SMALLEST = "2B"
FRAME_TOKENS = 48
"""Vision tokens of the frame that the whole model encodes: width and layers do not depend on it, time does."""

_ROOM = 1.3
"""Memory that must be there as a multiple of the weights: while loading, some are held twice."""

_LONGEST_S = 600.0


async def measure(*, quick: bool, tell: Callable[[str], None] = print) -> list[Figure]:
    """Return measured over planned, by model and in all. Raises PartMissing where not even the smallest fits."""
    figures: list[Figure] = []
    ratios: dict[str, dict[str, float]] = {}
    for size, name in MODELS.items():
        shape = shape_of(CONFIGS[name], size)
        ratios[size] = layer_ratios(shape, await _layers(name))
        if quick and size != SMALLEST:
            continue
        if why_not := _room_missing(shape):
            tell(f"{size} left out: {why_not}\n")
            continue
        with _folder(size) as folder:
            await _child("write", name, str(folder))
            whole = await _whole(folder)
            ratios[size] |= whole_ratios(shape, whole)
            figures += whole_figures(size, whole)
            if not quick and size == SMALLEST:
                served = await _served(folder, whole)
                ratios[size] |= served_ratios(shape, served)
                figures += served_figures(size, shape, served)
    if "weights" not in ratios[SMALLEST]:
        raise PartMissing("memory for the smallest model")
    return [*figures, *ratio_figures(ratios)]


def _room_missing(shape: ModelShape) -> str:
    """Return how much memory is missing to run a whole model; nothing where none is."""
    need = round(_ROOM * weights_bytes(shape, NumberType.BF16))
    there = psutil.virtual_memory().available
    return "" if there >= need else f"it needs {need / 1e9:.1f} GB of memory, {there / 1e9:.1f} GB are there"


async def _served(folder: Path, whole: Whole) -> Served:
    from bench.shapes_vllm import ask_vllm

    return await ask_vllm(folder, whole.feature_shape)


@contextmanager
def _folder(size: str) -> Iterator[Path]:
    """Yield a folder for a checkpoint, which is gigabytes and gone with the block."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"shape-{size}-", dir=CACHE))
    try:
        yield folder / f"qwen3-vl-{size.lower()}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _whole(folder: Path) -> Whole:
    found = await _child("whole", str(folder), str(FRAME_TOKENS))
    return Whole(**found | {"feature_shape": tuple(found["feature_shape"])})


async def _layers(name: str) -> Layers:
    return Layers(**await _child("layers", name, str(STEP_TOKENS), str(TOWER_TOKENS)))


async def _child(*words: str) -> dict[str, Any]:
    """Return what a process of ``shapes_child`` prints as its last line, JSON. Raises PartMissing where it fails."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.shapes_child", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_LONGEST_S):
            said, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last = complaints.decode(errors="replace").strip().splitlines()[-1:]
        raise PartMissing(f"{' '.join(words[:1])} ended with {process.returncode}: {' '.join(last)}")
    found: dict[str, Any] = json.loads(said.decode().strip().splitlines()[-1])
    return found
