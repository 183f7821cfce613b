"""Frames through a vision tower a second, by batch: pixels in memory to features in memory, on a device."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.gpu_table import BATCHES, CPU
from bench.report import Figure, median_figure
from bench.rig import CACHE
from models.checkpoint import Checkpoint, read_checkpoint
from models.compute import choose_compute, look_at_hardware
from models.pictures import Prepared, prepare
from tests.support.model_configs import CONFIGS
from tests.support.tiny_model import SMALL, NoisePicture, build_tiny_model

SMALL_TOKENS, LARGE_TOKENS = 24, 196
LARGE = "qwen3_vl 2B"
SIDE_PX = 448
"""A square of 14 × 14 cells of 32 pixels: 196 tokens."""


def encoder_figures(device: str, *, quick: bool) -> list[Figure]:
    """Return frames a second for each batch: of the small model, and on a GPU also of the 2B's tower."""
    batches = (1, 4) if quick else BATCHES
    rounds = 3 if quick else 10
    with _small() as folder:
        checkpoint = read_checkpoint(str(folder), frame_tokens=SMALL_TOKENS)
        figures = _measure(checkpoint, f"gpu.{device}.encoder.small", device, batches, rounds)
    if device == CPU or quick:
        return figures
    with _large() as folder:
        checkpoint = read_checkpoint(str(folder), frame_tokens=LARGE_TOKENS)
        return figures + _measure(checkpoint, f"gpu.{device}.encoder.2B", device, batches, rounds)


def tower_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the same tower, one layer of text and few words: only the tower is loaded."""
    return {**config, "text_config": {**config["text_config"], "num_hidden_layers": 1, "vocab_size": 512}}


def _measure(
    checkpoint: Checkpoint, name: str, device: str, batches: tuple[int, ...], rounds: int
) -> list[Figure]:
    from models.qwen_tower import QwenTower

    tower = QwenTower(checkpoint, choose_compute(look_at_hardware(), checkpoint.weights_type, device=device))
    tower.load()
    figures = []
    for batch in batches:
        pictures = [_prepared(checkpoint, number) for number in range(batch)]
        tower.encode(pictures)
        rates = []
        for _ in range(rounds):
            began = time.perf_counter()
            tower.encode(pictures)  # its features lie in memory when it returns
            rates.append(batch / (time.perf_counter() - began))
        figures.append(median_figure(f"{name}.{batch}", rates, "frames/s"))
    return figures


def _prepared(checkpoint: Checkpoint, number: int) -> Prepared:
    return prepare(NoisePicture(number, SIDE_PX, SIDE_PX), checkpoint.pictures)


@contextmanager
def _small() -> Iterator[Path]:
    folder = CACHE / "small-qwen3-vl"
    if not (folder / "model.safetensors").exists():
        build_tiny_model(folder, shape=SMALL)
    yield folder


@contextmanager
def _large() -> Iterator[Path]:
    """Yield a random checkpoint with the tower of the 2B (0.8 GB), gone with the block."""
    from bench.shapes_child import write_checkpoint

    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="tower-", dir=CACHE))
    try:
        write_checkpoint(tower_config(CONFIGS[LARGE]), folder / "qwen3-vl-2b")
        yield folder / "qwen3-vl-2b"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
