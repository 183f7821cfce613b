"""Publishing from the pool: what is new soon, all of it after an outage, and nothing of another's camera."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from core.errors import ServiceError
from core.ids import CameraId, Incarnation
from core.meter import NullMeter
from core.records import StaticSpan
from core.spans import Span
from featcache.pool import MemoryPool
from featcache.publish import Publisher
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from tests.support.redis_server import RedisServer
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

EVER = Span(0, 1 << 60)


@dataclass
class Stage:
    pool: MemoryPool
    window: RedisWindow
    publisher: Publisher

    async def put(self, t_us: int) -> None:
        frame = stored(t_us, seq=t_us, features=features_of(seed=t_us))
        await self.pool.put(frame, incarnation=FIRST_LIFE)
        self.publisher.offer(frame, incarnation=FIRST_LIFE)

    async def published(self, *expected: int) -> None:
        found: list[int] = []
        async with asyncio.timeout(10):
            while found != list(expected):
                await asyncio.sleep(0.01)
                with suppress(ServiceError):
                    found = [info.t_us for info in await self.window.index(GATE, EVER)]


@asynccontextmanager
async def publishing(
    server: RedisServer, *, budget_bytes: int = 1 << 30, capacity: int = 256
) -> AsyncIterator[Stage]:
    pool = MemoryPool(Settings(), meter=NullMeter())
    redis = RedisSettings(url=server.url, redis_budget_bytes=budget_bytes, reply_timeout_us=200_000)
    window = RedisWindow(redis, settings=Settings(), meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    lives: dict[CameraId, Incarnation] = {GATE: FIRST_LIFE}
    publisher = Publisher(pool, window, lambda: lives, capacity=capacity, retry_us=20_000)
    task = asyncio.create_task(publisher.run())
    try:
        yield Stage(pool, window, publisher)
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await window.aclose()


async def test_what_the_pool_has_stored_is_published() -> None:
    with RedisServer() as server:
        async with publishing(server) as stage:
            await stage.put(1)
            await stage.put(2)
            await stage.published(1, 2)


async def test_after_a_kill_and_a_restart_the_whole_window_of_the_pool_is_back() -> None:
    with RedisServer() as server:
        async with publishing(server, capacity=4) as stage:
            await stage.pool.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            await stage.put(1)
            await stage.published(1)
            server.kill()
            for t_us in range(2, 30):
                await stage.put(t_us)
            async with asyncio.timeout(10):
                while not stage.publisher.statistics().outages:
                    await asyncio.sleep(0.01)
            server.start()
            await stage.published(*range(1, 30))
            assert await stage.window.records(GATE, EVER) == (StaticSpan(1, 2),)


async def test_an_emptied_redis_is_filled_again_newest_first_as_far_as_it_may_hold() -> None:
    with RedisServer() as server:
        size = stored(1, features=features_of()).size_bytes
        async with publishing(server, budget_bytes=10 * size) as stage:
            for t_us in range(1, 31):
                await stage.put(t_us)
            await stage.published(*range(21, 31))
            server.cli("FLUSHALL")
            await stage.put(31)
            await stage.published(*range(22, 32))


async def test_a_camera_that_somebody_else_took_over_is_left_to_them() -> None:
    with RedisServer() as server:
        async with publishing(server) as stage:
            await stage.put(1)
            await stage.published(1)
            other = RedisWindow(RedisSettings(url=server.url), settings=Settings(), meter=NullMeter())
            await other.open_camera(GATE, FIRST_LIFE)
            await stage.put(2)
            async with asyncio.timeout(10):
                while stage.publisher.statistics().waiting:
                    await asyncio.sleep(0.01)
            await other.put(stored(3), incarnation=FIRST_LIFE)
            await stage.published(1, 3)
            await other.aclose()
