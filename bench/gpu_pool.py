"""Features into pages of a device and out of them again, beside the way through memory."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.gpu_table import GPU
from bench.report import Figure, median_figure
from core.frames import Features, FeatureType, KeepReason
from core.ids import CameraId, Incarnation, make_frame_ref
from core.meter import NullMeter
from featcache.paged_memory import PAGE_BYTES, PagedMemory
from featcache.pool import MemoryPool
from featcache.settings import Settings
from featcache.window import StoredFrame

FRAMES = 32
ENCODER = "0123456789ab"
CAMERA, LIFE = CameraId("bench"), Incarnation("bench")
JPEG = bytes(range(256)) * 24  # a picture of 6 kB


@dataclass(frozen=True, slots=True)
class Size:
    """One size of frames: its name in the table, and tokens × width of its features in bf16."""

    name: str
    tokens: int
    width: int


SIZES = (Size("12kB", 32, 192), Size("256kB", 64, 2048), Size("3.2MB", 196, 8192))


async def pool_figures(device: str, *, quick: bool) -> list[Figure]:
    """Return medians for each size of frame on a device."""
    figures: list[Figure] = []
    for size in SIZES:
        rounds = 10 if quick else 100
        name = f"gpu.{device}.pool.{{}}.{size.name}"
        figures += _pages(name, _blocks(size), device, rounds)
        for how, pages in (("put_memory", None), ("put_pages", _memory(size, device, FRAMES))):
            figures.append(median_figure(name.format(how), await _puts(size, pages, rounds), "µs"))
    return figures


def _blocks(size: Size) -> list[Features]:
    """Return a question's frames, no two alike."""
    random = np.random.default_rng(1)
    grid = (1, 4, size.tokens)  # four patches make a token
    return [
        Features(
            random.integers(0, 0x7F80, (size.tokens, size.width), dtype=np.uint16).astype("<u2").tobytes(),
            FeatureType.BF16,
            (size.tokens, size.width),
            grid,
            ENCODER,
        )
        for _ in range(FRAMES)
    ]


def _memory(size: Size, device: str, frames: int) -> PagedMemory:
    room = -(-size.tokens * size.width * 2 // PAGE_BYTES) * PAGE_BYTES
    return PagedMemory(frames * room, device)


def _pages(name: str, blocks: list[Features], device: str, rounds: int) -> list[Figure]:
    """Return the times of single pieces, and of a question's frames both ways."""
    (size,) = {block.shape for block in blocks}
    memory = _memory(Size("", *size), device, FRAMES + 1)
    held = [memory.store(block.near()) for block in blocks]
    far = [piece for piece in held if piece is not None]
    if len(far) != len(blocks) or any(piece != block.data for piece, block in zip(far, blocks, strict=True)):
        raise AssertionError("pages gave back other bytes than they were given")
    single = {
        "store": lambda: memory.store(blocks[0].near()),
        "back": far[0].near,
    }
    whole = {
        "question_pages": lambda: [piece.on(memory.device) for piece in far],
        "question_memory": lambda: [_by_memory(block, device) for block in blocks],
    }
    return [
        *(
            median_figure(name.format(how), _times(work, device, rounds, 1e6), "µs")
            for how, work in single.items()
        ),
        *(
            median_figure(name.format(how), _times(work, device, rounds, 1e3), "ms")
            for how, work in whole.items()
        ),
    ]


def _by_memory(features: Features, device: str) -> Any:
    """Return features on the device as a model takes them that lie in memory."""
    import torch

    return torch.from_numpy(features.bits().astype(np.uint16).view(np.int16)).to(device).view(torch.bfloat16)


def _times(work: Callable[[], object], device: str, rounds: int, scale: float) -> list[float]:
    """Return how long each of ``rounds`` took, until the device had done it, after a few that do not count."""
    took = []
    for number in range(rounds + 3):
        began = time.perf_counter()
        kept = work()
        settle(device)
        if number >= 3:
            took.append((time.perf_counter() - began) * scale)
        del kept
    return took


def settle(device: str) -> None:
    """Wait until a GPU has done what it was asked to."""
    if device == GPU:
        import torch

        torch.cuda.synchronize()


async def _puts(size: Size, pages: PagedMemory | None, rounds: int) -> list[float]:
    """Return µs of each put into a pool whose pages, where it has any, are full."""
    pool = MemoryPool(Settings(pool_budget_bytes=1 << 28), meter=NullMeter(), pages=pages)
    await pool.open_camera(CAMERA, LIFE)
    took = []
    for number, features in enumerate(_blocks(size) * (1 + -(-rounds // FRAMES))):
        frame = _frame(1 + number, features)
        seconds = await _timed(lambda frame=frame: pool.put(frame, incarnation=LIFE))  # type: ignore[misc]
        if number >= FRAMES:
            took.append(seconds * 1e6)
    return took


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _frame(t_us: int, features: Features) -> StoredFrame:
    ref = make_frame_ref(CAMERA, t_us, encoder=ENCODER, detail=str(features.tokens))
    return StoredFrame(ref, CAMERA, t_us, t_us, KeepReason.MOTION, 0.1, False, JPEG, 640, 360, features)
