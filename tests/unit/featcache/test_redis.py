"""The published copy on a real server: owners that change, deletion without a trace, and Redis in trouble."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from core.meter import Metric, NullMeter, TallyMeter
from core.records import StaticSpan
from core.spans import Span
from featcache.codec_index import decode_entry, encode_entry
from featcache.errors import StaleIncarnation, WindowUnavailable
from featcache.redis import LifeMissing, RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_link import Fault
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import Tier
from livelens.ports import free_port
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


# an owner with a pool behind it


@asynccontextmanager
async def owned(
    url: str, *, budget_bytes: int = 1 << 30, meter: TallyMeter | None = None
) -> AsyncIterator[RedisWindow]:
    settings = RedisSettings(url=url, redis_budget_bytes=budget_bytes, **QUICK)
    window = RedisWindow(settings, settings=Settings(), meter=meter or NullMeter(), behind=Tier.MEMORY)
    await window.open_camera(GATE, FIRST_LIFE)
    try:
        yield window
    finally:
        await window.aclose()


async def tiers(window: RedisReader) -> dict[int, Tier]:
    return {info.t_us: info.tier for info in await window.index(GATE, EVER)}


async def test_what_leaves_for_the_budget_stays_in_the_index_where_its_owner_has_it() -> None:
    size, tally = stored(1).size_bytes, TallyMeter()
    async with owned(shared_server().url, budget_bytes=2 * size, meter=tally) as window:
        for t_us in (10, 20, 30, 40):
            await window.put(stored(t_us, seq=t_us), incarnation=FIRST_LIFE)
        assert await tiers(window) == {10: Tier.MEMORY, 20: Tier.MEMORY, 30: Tier.REDIS, 40: Tier.REDIS}
        newest = await window.newest(GATE, before_us=40, count=2)
        assert [(info.t_us, info.tier) for info in newest] == [(20, Tier.MEMORY), (30, Tier.REDIS)]
        head = await window.head(GATE)
        assert (head.frames, head.size_bytes, head.oldest_us, head.evicted_before_us) == (
            4,
            4 * size,
            10,
            None,
        )
        assert await window.held_times(GATE) == (30, 40)
        assert window.oldest_held_us(GATE) == 30
        assert tally.counts == {
            (Metric.EVICTED, (("reason", "spilled"),)): 2,
        }
        assert tally.gauges[Metric.WINDOW_FRAMES, (("tier", "redis"),)] == 2


async def test_frames_are_listed_without_their_values_and_forgotten_again() -> None:
    async with owned(shared_server().url) as window:
        await window.put(stored(30), incarnation=FIRST_LIFE)
        listed = [stored(t, features=features_of()) for t in range(10, 14)]
        infos = [decode_entry(encode_entry(frame), camera_id=GATE) for frame in listed]
        await window.put_index(GATE, infos, incarnation=FIRST_LIFE)
        await window.put_index(GATE, infos, incarnation=FIRST_LIFE)
        assert await tiers(window) == {**dict.fromkeys(range(10, 14), Tier.MEMORY), 30: Tier.REDIS}
        assert (await window.index(GATE, EVER))[0].grid == (1, 4, 4)
        await window.forget(GATE, [10, 11, 99], incarnation=FIRST_LIFE)
        assert list(await tiers(window)) == [12, 13, 30]
        head = await window.head(GATE)
        assert head.size_bytes == 2 * listed[0].size_bytes + stored(30).size_bytes
        await window.trim(GATE, before_us=30)
        assert (await window.head(GATE)).size_bytes == stored(30).size_bytes


async def test_a_lent_frame_can_be_read_for_a_while_and_is_not_counted_as_held() -> None:
    server = shared_server()
    size = stored(1).size_bytes
    async with owned(server.url, budget_bytes=8 * size) as window:
        frames = [stored(t, seq=t) for t in range(1, 21)]
        for frame in frames:
            await window.put(frame, incarnation=FIRST_LIFE)
        lent = await window.lend(frames[:4], incarnation=FIRST_LIFE)
        assert [frame.t_us for frame in lent] == [1, 2]  # a quarter of the budget
        assert [f.t_us for f in await window.fetch([f.ref for f in frames[:4]])] == [1, 2]
        key = window._keys(GATE, FIRST_LIFE).frame(1)
        assert 0 < int(server.cli("PTTL", key)) <= 30_000
        assert (await tiers(window))[1] is Tier.MEMORY
        await window.put(stored(21), incarnation=FIRST_LIFE)
        assert await window.held_times(GATE) == tuple(range(16, 22))  # what is lent takes room


async def test_lending_leaves_held_frames_alone_lists_new_ones_and_refuses_those_aged_out() -> None:
    server = shared_server()
    async with owned(server.url) as window:
        for t_us in (5, 10):
            await window.put(stored(t_us), incarnation=FIRST_LIFE)
        await window.trim(GATE, before_us=10)
        lent = await window.lend([stored(t) for t in (4, 10, 20)], incarnation=FIRST_LIFE)
        assert [frame.t_us for frame in lent] == [10, 20]
        assert int(server.cli("PTTL", window._keys(GATE, FIRST_LIFE).frame(10))) > 60_000
        assert await tiers(window) == {10: Tier.REDIS, 20: Tier.MEMORY}
        assert not [key for key in server.key_names() if ":s:" in key or key.endswith("f:4")]
        await window.put(stored(20), incarnation=FIRST_LIFE)
        assert await tiers(window) == {10: Tier.REDIS, 20: Tier.REDIS}


async def test_a_reader_that_misses_a_held_frame_shows_it_as_spilled_from_then_on() -> None:
    server = shared_server()
    async with owned(server.url) as window:
        await window.put(stored(10), incarnation=FIRST_LIFE)
        server.cli("DEL", window._keys(GATE, FIRST_LIFE).frame(10))
        assert await window.fetch([stored(10).ref]) == ()
        assert await tiers(window) == {10: Tier.MEMORY}


async def test_deleting_takes_what_was_lent_too() -> None:
    server = shared_server()
    size = stored(1).size_bytes
    async with owned(server.url, budget_bytes=4 * size) as window:
        frames = [stored(t) for t in range(1, 11)]
        for frame in frames:
            await window.put(frame, incarnation=FIRST_LIFE)
        assert len(await window.lend(frames[:1], incarnation=FIRST_LIFE)) == 1
        assert await window.delete_camera(GATE) == 10
        assert server.key_names() == [LifeKeys.of("livelens", GATE, FIRST_LIFE).gone]


async def test_a_second_frame_of_a_moment_replaces_the_first_in_every_count() -> None:
    async with owned(shared_server().url) as window:
        await window.put(stored(10, jpeg=b"a" * 1000), incarnation=FIRST_LIFE)
        await window.put(stored(10, jpeg=b"b", features=features_of()), incarnation=FIRST_LIFE)
        size = stored(10, jpeg=b"b", features=features_of()).size_bytes
        assert (await window.head(GATE)).size_bytes == size
        assert await window.held_times(GATE) == (10,)
        assert window._ledger.size_bytes == size
