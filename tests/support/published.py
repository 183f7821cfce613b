"""A pool with its published copy in a real Redis, running, and readers in the place of other processes.

async with published(server) as stage:
    await stage.put(1)
    await stage.until_published(1)
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from core.clock import ServiceClock
from core.errors import ServiceError
from core.ids import CameraId, Incarnation
from core.meter import TallyMeter
from core.spans import Span
from featcache.ended import KeptDeletions
from featcache.pool import MemoryPool
from featcache.publish_queue import Pace
from featcache.published import PublishedWindow
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame, Tier
from tests.support.redis_server import RedisServer
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

EVER = Span(0, 1 << 60)
QUICK = {"connect_timeout_us": 500_000, "reply_timeout_us": 700_000, "operation_timeout_us": 1_400_000}


@dataclass
class Stage:
    """One owner's process and one reader's."""

    pool: MemoryPool
    window: PublishedWindow
    reader: RedisReader
    meter: TallyMeter

    async def put(self, *times_us: int, camera_id: CameraId = GATE, life: Incarnation = FIRST_LIFE) -> None:
        """Store small frames with features."""
        for t_us in times_us:
            await self.store(
                stored(t_us, camera_id=camera_id, seq=t_us, features=features_of(seed=t_us)), life=life
            )

    async def store(self, frame: StoredFrame, *, life: Incarnation = FIRST_LIFE) -> None:
        """Store one frame as a road does."""
        await self.window.put(frame, incarnation=life)

    async def tiers(self, camera_id: CameraId = GATE) -> dict[int, Tier]:
        """Return what the reader's index says; empty where it gets none."""
        with suppress(ServiceError):
            return {info.t_us: info.tier for info in await self.reader.index(camera_id, EVER)}
        return {}

    async def shown(self, camera_id: CameraId = GATE) -> dict[int, Tier]:
        """Return what the owner's index says."""
        return {info.t_us: info.tier for info in await self.window.index(camera_id, EVER)}

    async def until_published(self, *expected: int, camera_id: CameraId = GATE) -> None:
        """Wait until the values of exactly these frames lie in Redis, for readers and in the owner's view."""

        async def there() -> bool:
            views = [await self.tiers(camera_id), await self.shown(camera_id)]
            return all(
                [t for t, tier in view.items() if tier is Tier.REDIS] == list(expected) for view in views
            )

        await until(there)


async def until(holds: Callable[[], object], *, within_s: float = 15) -> None:
    """Wait until ``holds()``, which may be a coroutine function, is true."""
    async with asyncio.timeout(within_s):
        while True:
            found = holds()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def published(
    server: RedisServer,
    *,
    budget_bytes: int = 1 << 30,
    settings: Settings | None = None,
    capacity: int = 256,
    open_gate: bool = True,
    deletions: KeptDeletions | None = None,
    **redis: object,
) -> AsyncIterator[Stage]:
    """Run a pool and its published copy; the camera ``gate`` is open."""
    settings, meter = settings or Settings(), TallyMeter()
    named = {"url": server.url, "redis_budget_bytes": budget_bytes, **QUICK, **redis}
    options = RedisSettings(**named)  # type: ignore[arg-type]
    pool = MemoryPool(settings, meter=meter)
    window = PublishedWindow(
        pool,
        options,
        settings=settings,
        clock=ServiceClock(),
        meter=meter,
        pace=Pace(capacity=capacity, retry_us=20_000, tick_us=50_000),
        deletions=deletions,
    )
    reader = RedisReader(options, meter=meter)
    if open_gate:
        await window.open_camera(GATE, FIRST_LIFE)
    tasks = [asyncio.create_task(window.publish()), asyncio.create_task(window.lend())]
    try:
        yield Stage(pool, window, reader, meter)
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await window.aclose()
        await reader.aclose()
