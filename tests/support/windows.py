"""Frames, samples, windows and encoders for tests of whatever reads or fills a window."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import numpy as np
import pytest

from core.clock import ServiceClock
from core.errors import ErrorKind, ServiceError
from core.frames import Features, FeatureType, KeepReason, Picture, Sample
from core.ids import CameraId, Incarnation, make_frame_ref
from core.meter import Meter, NullMeter
from featcache.paged_memory import PagedMemory
from featcache.pool import MemoryPool
from featcache.published import PublishedWindow
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame, Window
from tests.support.pictures import ArrayPicture
from tests.support.redis_server import shared_server

GATE = CameraId("gate")
YARD = CameraId("yard")
FIRST_LIFE = Incarnation("life1")
SECOND_LIFE = Incarnation("life2")
ENCODER = "0123456789ab"
NOON_US = 1_700_000_000_000_000
SECOND_US = 1_000_000


def features_of(tokens: int = 4, width: int = 8, *, seed: int = 0, version: str = ENCODER) -> Features:
    """Return finite BF16 features whose bits differ from seed to seed."""
    bits = np.random.default_rng(seed).integers(0, 0x7F80, size=(tokens, width), dtype=np.uint16)
    return Features(bits.astype("<u2").tobytes(), FeatureType.BF16, (tokens, width), (1, 4, 4), version)


def stored(
    t_us: int,
    *,
    camera_id: CameraId = GATE,
    seq: int = 0,
    jpeg: bytes = b"jpeg",
    features: Features | None = None,
    motion: float = 0.1,
) -> StoredFrame:
    """Return a frame of this time, with a ref that fits."""
    ref = (
        make_frame_ref(camera_id, t_us)
        if features is None
        else make_frame_ref(camera_id, t_us, encoder=features.encoder_version, detail=str(features.tokens))
    )
    return StoredFrame(ref, camera_id, t_us, seq, KeepReason.MOTION, motion, False, jpeg, 64, 48, features)


def sample_of(t_us: int, *, camera_id: CameraId = GATE, jpeg: bytes = b"jpeg", epoch: int = 0) -> Sample:
    """Return a sample of a small grey picture."""
    picture = ArrayPicture(np.zeros((48, 64), np.uint8))
    return Sample(camera_id, t_us, epoch, KeepReason.MOTION, 0.1, picture, jpeg)


class EncoderBroke(ServiceError):
    code = "test_encoder_broke"
    kind = ErrorKind.UNAVAILABLE


class ScriptedEncoder:
    """An encoder that counts, and can fail, stall until released, or answer something else on demand.

    Attributes:
        calls: Pictures it was given.
        fail: Raise EncoderBroke.
        answer: What to give back instead of features of its own.
        gate: Cleared, calls wait until it is set.
    """

    version = ENCODER
    frame_detail = "4"

    def __init__(self) -> None:
        self.calls = 0
        self.fail = False
        self.answer: Callable[[], Features | None] | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def encode(self, picture: Picture) -> Features | None:
        self.calls += 1
        await self.gate.wait()
        if self.fail:
            raise EncoderBroke("the engine is down")
        return self.answer() if self.answer else features_of(seed=self.calls)


OpenWindow = Callable[..., AbstractAsyncContextManager[Window]]
"""Opens an empty window: ``open_window(settings=Settings(), meter=NullMeter())``."""


@asynccontextmanager
async def memory_window(
    *, settings: Settings | None = None, meter: Meter | None = None
) -> AsyncIterator[Window]:
    """Open an empty window in memory."""
    yield MemoryPool(settings or Settings(), meter=meter or NullMeter())


PAGES, PAGE_BYTES = 64, 64


@asynccontextmanager
async def paged_window(
    *, settings: Settings | None = None, meter: Meter | None = None
) -> AsyncIterator[Window]:
    """Open an empty window with a few small pages: small features lie in them, large ones find no room there."""
    pages = PagedMemory(PAGES * PAGE_BYTES, "cpu", page_bytes=PAGE_BYTES)
    pool = MemoryPool(settings or Settings(), meter=meter or NullMeter(), pages=pages)
    yield pool
    for holding in pool.statistics().cameras:
        await pool.delete_camera(holding.camera_id)
    assert pool.statistics().gpu_bytes == 0


@asynccontextmanager
async def redis_window(
    *, settings: Settings | None = None, meter: Meter | None = None
) -> AsyncIterator[Window]:
    """Open an empty window in a real Redis; the budget of a pool becomes that of its published copy."""
    settings = settings or Settings()
    redis = RedisSettings(url=shared_server().url, redis_budget_bytes=settings.pool_budget_bytes)
    window = RedisWindow(redis, settings=settings, meter=meter or NullMeter())
    try:
        yield window
    finally:
        await window.aclose()


@asynccontextmanager
async def published_window(
    *, settings: Settings | None = None, meter: Meter | None = None
) -> AsyncIterator[Window]:
    """Open an empty pool that is being published to a real Redis, which holds less than it does."""
    settings = settings or Settings()
    redis = RedisSettings(url=shared_server().url, redis_budget_bytes=max(1, settings.pool_budget_bytes // 2))
    pool = MemoryPool(settings, meter=meter or NullMeter())
    window = PublishedWindow(pool, redis, settings=settings, clock=ServiceClock(), meter=NullMeter())
    tasks = [asyncio.create_task(window.publish()), asyncio.create_task(window.lend())]
    try:
        yield window
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await window.aclose()


WINDOWS = (
    memory_window,
    pytest.param(paged_window, marks=pytest.mark.torch),
    redis_window,
    published_window,
)
