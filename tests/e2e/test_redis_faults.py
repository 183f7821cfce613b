"""Redis in trouble behind a pool that is being filled: the stream never stops, and all comes back by itself."""

import asyncio
import pickle
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from core.meter import Metric
from featcache.codec import HEADER_BYTES
from featcache.errors import WindowUnavailable
from featcache.redis_link import Fault
from featcache.window import Tier
from livelens.ports import free_port
from tests.support.published import EVER, Stage, published, until
from tests.support.redis_server import RedisServer, fail_snapshot, save_again
from tests.support.windows import FIRST_LIFE, GATE, NOON_US, features_of, stored

STEP_US = 250_000
JPEG = b"\xff\xd8" + bytes(200_000)


@asynccontextmanager
async def streaming(
    stage: Stage, *, every_s: float = 0.005, jpeg: bytes = b"jpeg"
) -> AsyncIterator[list[float]]:
    """Store frames for the length of the block; yield how long each ``put`` took, so far."""
    took: list[float] = []

    async def stream() -> None:
        while True:
            n = len(took)
            frame = stored(NOON_US + n * STEP_US, seq=n, jpeg=jpeg, features=features_of(seed=n))
            began_s = time.monotonic()
            await stage.store(frame)
            took.append(time.monotonic() - began_s)
            await asyncio.sleep(every_s)

    task = asyncio.create_task(stream())
    try:
        yield took
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def all_published(stage: Stage) -> bool:
    """Return whether a reader finds the whole window of the pool in Redis."""
    shown = await stage.shown()
    return await stage.tiers() == shown and set(shown.values()) == {Tier.REDIS}


async def test_killed_in_mid_stream_and_back_after_a_while_nothing_of_the_pool_is_lost() -> None:
    with RedisServer() as server:
        async with published(server, capacity=16) as stage:
            async with streaming(stage) as took:
                await until(lambda: stage.window.statistics()[0].published > 20)
                server.kill()
                away = len(took)
                await until(lambda: len(took) > away + 100)
                with pytest.raises(WindowUnavailable):
                    await stage.reader.head(GATE)
                server.start()
                back = len(took)
                await until(lambda: len(took) > back + 20)
            assert max(took) < 0.25  # a put is microseconds; the machine may be busy
            await until(lambda: all_published(stage))
            infos = await stage.window.index(GATE, EVER)
            assert len(infos) == len(took)
            assert await stage.reader.fetch([i.ref for i in infos]) == await stage.window.fetch(
                [i.ref for i in infos]
            )
            assert stage.window.health.outages == 1


async def test_with_too_little_memory_the_newest_lie_there_the_rest_stays_listed_and_can_be_had() -> None:
    """B41 a: ``maxmemory 20mb`` and ``noeviction``, until it is full."""
    with RedisServer("--maxmemory", "20mb", "--maxmemory-policy", "noeviction") as server:
        async with published(server, reply_timeout_us=1_000_000, operation_timeout_us=2_000_000) as stage:
            async with streaming(stage, jpeg=JPEG) as took:
                await until(lambda: len(took) >= 200, within_s=30)
            await until(lambda: newest_published(stage), within_s=30)
            shown = await stage.shown()
            await until(lambda: same_index(stage), within_s=30)
            held = [t for t, tier in shown.items() if tier is Tier.REDIS]
            assert 20 < len(held) < 100
            assert held == list(shown)[-len(held) :]  # the newest
            assert len(shown) == len(took)
            oldest = next(iter(shown))
            found = await stage.reader.at(GATE, oldest)
            assert found is not None
            assert found.jpeg == JPEG
            server.cli("CONFIG", "SET", "maxmemory", "0")
            await stage.put(NOON_US + 10_000 * STEP_US)
            await until(lambda: stage.window.health.up)


async def newest_published(stage: Stage) -> bool:
    return list((await stage.shown()).values())[-1] is Tier.REDIS


async def same_index(stage: Stage) -> bool:
    return list(await stage.tiers()) == list(await stage.shown())


async def test_with_no_memory_at_all_frames_are_listed_and_the_state_says_full() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1)
            await stage.until_published(1)
            server.cli("CONFIG", "SET", "maxmemory", "1")
            await stage.put(2, 3)
            await until(lambda: stage.window.health.fault is Fault.FULL)
            await until(lambda: same_index(stage))
            assert list(await stage.tiers()) == [1, 2, 3]
            server.cli("CONFIG", "SET", "maxmemory", "0")
            await stage.put(4)
            await until(lambda: stage.window.health.up)


async def test_paused_it_costs_the_stream_nothing_and_all_is_there_afterwards() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            async with streaming(stage) as took:
                await until(lambda: stage.window.statistics()[0].published > 5)
                server.cli("CLIENT", "PAUSE", "1500")
                await until(lambda: stage.window.health.fault is Fault.SLOW)
                paused = len(took)
                await until(lambda: len(took) > paused + 20)
            assert max(took) < 0.25
            await until(lambda: all_published(stage))
            assert stage.meter.counts[Metric.REDIS_OUTAGES, (("fault", "slow"),)] == 1


async def test_made_a_replica_that_takes_no_writes_it_is_read_on_and_written_again_later() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1)
            await stage.until_published(1)
            server.cli("REPLICAOF", "127.0.0.1", str(free_port()))
            await stage.put(2)
            await until(lambda: stage.window.health.fault is Fault.READ_ONLY)
            assert [f.t_us for f in await stage.reader.fetch(refs(1, 2))] == [1]
            server.cli("REPLICAOF", "NO", "ONE")
            await stage.until_published(1, 2)


def levels(stage: Stage) -> tuple[float, float]:
    """Return frames and bytes that the gauges say lie in Redis."""
    tier = (("tier", "redis"),)
    return stage.meter.gauges[Metric.WINDOW_FRAMES, tier], stage.meter.gauges[Metric.WINDOW_BYTES, tier]


async def test_gauges_say_what_readers_could_get_in_an_outage_and_after_it() -> None:
    size = stored(1, features=features_of()).size_bytes
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1, 2)
            await stage.until_published(1, 2)
            assert levels(stage) == (2, 2 * size)
            server.kill()
            await stage.put(3)
            await until(lambda: not stage.window.health.up)
            assert levels(stage) == (0, 0)
            server.start()
            await stage.until_published(1, 2, 3)
            assert levels(stage) == (3, 3 * size)
            server.cli("FLUSHALL")
            await stage.until_published(1, 2, 3)
            await until(lambda: levels(stage) == (3, 3 * size))


async def test_a_snapshot_that_failed_stops_writes_and_nothing_else_and_is_named_b41_b() -> None:
    """B41 b: writes are refused until a snapshot succeeds; what lies there is read on, and keeps its tier."""
    with RedisServer("--save", "3600 1000", "--enable-protected-configs", "yes") as server:
        async with published(server) as stage:
            before_us = NOON_US - STEP_US
            await stage.put(before_us)
            await stage.until_published(before_us)
            fail_snapshot(server)
            async with streaming(stage) as took:
                await until(lambda: stage.window.health.fault is Fault.UNSAVED)
                assert "degraded: Redis takes no writes: its last snapshot" in stage.window.health.in_words()
                refused = len(took)
                await until(lambda: len(took) > refused + 50)
                assert [f.t_us for f in await stage.reader.fetch(refs(before_us))] == [before_us]
                assert (await stage.shown())[before_us] is Tier.REDIS
                assert levels(stage)[0] >= 1
                save_again(server)
                await until(lambda: stage.window.health.up)
            assert max(took) < 0.25
            await until(lambda: all_published(stage))
            assert stage.meter.counts[Metric.REDIS_OUTAGES, (("fault", "unsaved"),)] == 1


async def test_of_one_frame_in_ten_forged_the_rest_is_used_and_each_is_counted() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(*range(1, 51))
            await stage.until_published(*range(1, 51))
            keys = stage.window._redis._keys(GATE, FIRST_LIFE)
            (good,) = await stage.reader._link.run(GATE, [("GET", keys.frame(1))])
            forged = {
                5: good[:-9],  # short
                15: good[:5] + b"\x07" + good[6:],  # another dtype
                25: good[:HEADER_BYTES] + struct.pack("<H", 0x7FC0) + good[HEADER_BYTES + 2 :],  # NaN
                35: good[:12] + struct.pack("<I", 9) + good[16:],  # another width
                45: pickle.dumps(list(range(100))),
            }
            for t_us, value in forged.items():
                await stage.reader._link.run(GATE, [("SET", keys.frame(t_us), value)])
            found = await stage.reader.fetch(refs(*range(1, 51)))
            assert [frame.t_us for frame in found] == [t for t in range(1, 51) if t not in forged]
            assert sum(count for _, count in stage.reader.refused) == 5
            assert len(await stage.window.fetch(refs(*range(1, 51)))) == 50  # the owner is not concerned


def refs(*times_us: int) -> list[str]:
    return [stored(t, features=features_of()).ref for t in times_us]
