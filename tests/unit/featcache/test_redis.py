"""The published copy on a real server: owners that change, deletion without a trace, and Redis in trouble."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from core.meter import Metric, NullMeter, TallyMeter
from core.records import StaticSpan
from core.spans import Span
from featcache.errors import StaleIncarnation, WindowUnavailable
from featcache.redis import LifeMissing, RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_link import Fault
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from tests.support.ports import free_port
from tests.support.redis_server import RedisServer, shared_server
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, YARD, features_of, stored

EVER = Span(0, 1 << 60)
QUICK = {"connect_timeout_us": 200_000, "reply_timeout_us": 200_000, "operation_timeout_us": 500_000}


@asynccontextmanager
async def opened(
    url: str, *, cluster: bool = False, meter: TallyMeter | None = None
) -> AsyncIterator[RedisWindow]:
    settings = RedisSettings(url=url, cluster=cluster, **({} if cluster else QUICK))
    window = RedisWindow(settings, settings=Settings(), meter=meter or NullMeter())
    try:
        yield window
    finally:
        await window.aclose()


async def times(window: RedisWindow) -> list[int]:
    return [info.t_us for info in await window.index(GATE, EVER)]


async def refused_quickly(call: Callable[[], object]) -> None:
    begun = time.monotonic()
    with pytest.raises(WindowUnavailable):
        await call()  # type: ignore[misc]
    assert time.monotonic() - begun < 2


async def test_who_opens_a_camera_last_owns_it() -> None:
    url = shared_server().url
    async with opened(url) as old, opened(url) as new:
        await old.open_camera(GATE, FIRST_LIFE)
        await old.put(stored(10), incarnation=FIRST_LIFE)
        await new.open_camera(GATE, FIRST_LIFE)
        with pytest.raises(StaleIncarnation):
            await old.put(stored(20), incarnation=FIRST_LIFE)
        with pytest.raises(StaleIncarnation):
            await old.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
        await new.put(stored(30), incarnation=FIRST_LIFE)
        assert await times(new) == [10, 30]


async def test_an_older_fencing_number_cannot_take_over() -> None:
    url = shared_server().url
    async with opened(url) as old, opened(url) as new:
        await new.open_camera(GATE, FIRST_LIFE, fence=7)
        with pytest.raises(StaleIncarnation):
            await old.open_camera(GATE, FIRST_LIFE, fence=6)
        await new.put(stored(10), incarnation=FIRST_LIFE)


async def test_a_refused_frame_leaves_nothing_behind() -> None:
    server = shared_server()
    async with opened(server.url) as old, opened(server.url) as new:
        await old.open_camera(GATE, FIRST_LIFE)
        await new.open_camera(GATE, SECOND_LIFE)
        before = server.key_names()
        with pytest.raises(StaleIncarnation):
            await old.put(stored(10), incarnation=FIRST_LIFE)
        assert server.key_names() == before


async def test_deleting_leaves_one_nameless_mark_and_takes_frames_the_index_has_lost() -> None:
    server = shared_server()
    async with opened(server.url) as window, opened(server.url) as other:
        await window.open_camera(GATE, FIRST_LIFE)
        for t_us in (10, 20, 30):
            await window.put(stored(t_us), incarnation=FIRST_LIFE)
        await window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
        keys = LifeKeys.of("livelens", GATE, FIRST_LIFE)
        server.cli("ZREMRANGEBYSCORE", keys.index, "20", "20")
        assert await other.delete_camera(GATE) == 2
        assert server.key_names() == [keys.gone]
        assert int(server.cli("TTL", keys.gone)) > 0
        with pytest.raises(StaleIncarnation):
            await window.put(stored(40), incarnation=FIRST_LIFE)
        assert server.key_names() == [keys.gone]


async def test_everything_but_the_counts_of_time_carries_a_time_to_live() -> None:
    server = shared_server()
    async with opened(server.url) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        await window.put(stored(10), incarnation=FIRST_LIFE)
        await window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
        assert [key for key in server.key_names() if int(server.cli("TTL", key)) <= 0] == []


async def test_times_of_today_keep_every_digit() -> None:
    async with opened(shared_server().url) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        now_us = 1_799_999_999_999_999
        for t_us in (now_us - 1, now_us):
            await window.put(stored(t_us), incarnation=FIRST_LIFE)
        await window.trim(GATE, before_us=now_us)
        head = await window.head(GATE)
        assert (head.oldest_us, head.evicted_before_us, await times(window)) == (now_us, now_us, [now_us])


async def test_a_batch_says_of_each_frame_what_became_of_it() -> None:
    async with opened(shared_server().url) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        writes = [(stored(10), FIRST_LIFE), (stored(20), SECOND_LIFE), (stored(30), FIRST_LIFE)]
        outcomes = await window.put_many(writes)
        assert [type(outcome) for outcome in outcomes] == [type(None), StaleIncarnation, type(None)]
        assert await times(window) == [10, 30]


async def test_redis_killed_and_back_empty_is_told_apart_from_a_deleted_camera() -> None:
    with RedisServer() as server:
        async with opened(server.url) as window:
            await window.open_camera(GATE, FIRST_LIFE)
            await window.put(stored(10), incarnation=FIRST_LIFE)
            server.kill()
            await refused_quickly(lambda: window.put(stored(20), incarnation=FIRST_LIFE))
            await refused_quickly(lambda: window.index(GATE, EVER))
            assert window.fault is Fault.AWAY
            server.start()
            with pytest.raises(LifeMissing):
                await window.put(stored(30), incarnation=FIRST_LIFE)
            await window.open_camera(GATE, FIRST_LIFE)
            await window.put(stored(30), incarnation=FIRST_LIFE)
            assert await times(window) == [30]
            assert window.fault is None


async def test_a_full_redis_loses_its_oldest_frames_and_takes_the_new_ones() -> None:
    tally = TallyMeter()
    with RedisServer("--maxmemory", "6mb", "--maxmemory-policy", "noeviction") as server:
        async with opened(server.url, meter=tally) as window:
            await window.open_camera(GATE, FIRST_LIFE)
            for t_us in range(1, 41):
                await window.put(stored(t_us, jpeg=b"x" * 200_000), incarnation=FIRST_LIFE)
            held = await times(window)
            assert held[-1] == 40
            assert 5 < len(held) < 40
            assert held == list(range(held[0], 41))
            assert tally.total(Metric.EVICTED) == 40 - len(held)


async def test_a_redis_that_may_not_write_is_unavailable_still_readable_and_heals() -> None:
    with RedisServer() as server:
        async with opened(server.url) as window:
            await window.open_camera(GATE, FIRST_LIFE)
            await window.put(stored(10), incarnation=FIRST_LIFE)
            server.cli("REPLICAOF", "127.0.0.1", str(free_port()))
            await refused_quickly(lambda: window.put(stored(20), incarnation=FIRST_LIFE))
            assert window.fault is Fault.READ_ONLY
            assert await times(window) == [10]
            assert (await window.head(GATE)).frames == 1
            server.cli("REPLICAOF", "NO", "ONE")
            await window.put(stored(20), incarnation=FIRST_LIFE)
            assert await times(window) == [10, 20]


async def test_a_paused_redis_is_unavailable_within_the_time_set_and_heals() -> None:
    with RedisServer() as server:
        async with opened(server.url) as window:
            await window.open_camera(GATE, FIRST_LIFE)
            server.cli("CLIENT", "PAUSE", "1500")
            await refused_quickly(lambda: window.put(stored(10), incarnation=FIRST_LIFE))
            await refused_quickly(lambda: window.head(GATE))
            assert window.fault is Fault.SLOW
            async with asyncio.timeout(10):
                while window.fault is not None:
                    with suppress(WindowUnavailable):
                        await window.put(stored(20), incarnation=FIRST_LIFE)
            assert 20 in await times(window)


async def test_a_cluster_serves_it_without_a_command_over_two_slots() -> None:
    with RedisServer("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
        server.cli("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        while "cluster_state:ok" not in server.cli("CLUSTER", "INFO"):
            await asyncio.sleep(0.02)
        async with opened(server.tcp_url, cluster=True) as window:
            for camera_id in (GATE, YARD):
                await window.open_camera(camera_id, FIRST_LIFE)
            frames = [stored(t, camera_id=c, features=features_of()) for t in (10, 20) for c in (GATE, YARD)]
            assert set(await window.put_many([(frame, FIRST_LIFE) for frame in frames])) == {None}
            await window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            assert await window.fetch([frame.ref for frame in frames]) == tuple(frames)
            assert await window.trim(GATE, before_us=20) == 1
            assert (await window.head(GATE)).frames == 1
            assert await window.records(GATE, EVER) == ()
            await window.open_camera(GATE, SECOND_LIFE)
            assert await window.delete_camera(YARD) == 2
            assert await window.delete_camera(GATE) == 0
        assert all(key.endswith(":gone") for key in server.key_names())
