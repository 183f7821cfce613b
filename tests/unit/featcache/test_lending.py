"""Spilled frames on request: another process gets them from their owner in time, or goes on without them."""

import time

from core.ids import CameraId, make_frame_ref
from core.meter import Metric
from featcache.redis_keys import OwnerKeys
from featcache.redis_requests import LIMIT_US
from featcache.window import Tier
from tests.support.published import Stage, published, until
from tests.support.redis_server import RedisServer
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

SIZE = stored(1, features=features_of()).size_bytes


async def spilled(stage: Stage) -> None:
    """Store forty frames, of which the newest sixteen lie in Redis."""
    await stage.put(*range(1, 41))
    await stage.until_published(*range(25, 41))
    await until(lambda: owner_alive(stage))


async def owner_alive(stage: Stage) -> bool:
    (found,) = await stage.reader._link.run(GATE, [("EXISTS", stage.window._redis.owner_keys.alive)])
    return bool(found)


def refs(*times_us: int) -> list[str]:
    return [stored(t, features=features_of()).ref for t in times_us]


async def fetched(stage: Stage, t_us: int) -> bool:
    return len(await stage.reader.fetch(refs(t_us))) == 1


async def test_another_process_reads_what_only_the_owner_holds() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            began_s = time.monotonic()
            found = await stage.reader.fetch(refs(2, 40, 3))
            assert time.monotonic() - began_s < LIMIT_US / 1e6
            assert found == await stage.window.fetch(refs(2, 40, 3))
            assert [frame.t_us for frame in found] == [2, 40, 3]
            assert (await stage.tiers())[2] is Tier.MEMORY
            picture = await stage.reader.at(GATE, 4)
            assert picture is not None
            assert stage.meter.counts[Metric.PROMOTED, (("outcome", "lent"),)] == 3
            assert len(stage.meter.observed[Metric.PROMOTE_SECONDS, ()]) == 2
            assert stage.window.statistics()[1].answered == 2


async def test_what_there_is_no_room_for_is_left_out_at_once() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            found = await stage.reader.fetch(refs(*range(1, 11)))
            assert [frame.t_us for frame in found] == [1, 2, 3, 4]
            assert stage.window.statistics()[1].refused == 6


async def test_what_has_aged_out_is_answered_not_waited_for() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            await stage.window.trim(GATE, before_us=10)
            began_s = time.monotonic()
            assert [frame.t_us for frame in await stage.reader.fetch(refs(5, 12))] == [12]
            assert time.monotonic() - began_s < LIMIT_US / 1e6


async def test_an_owner_that_is_gone_is_not_waited_for() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            server.cli("HSET", stage.window._redis._keys(GATE, FIRST_LIFE).life, "owner", "00" * 8)
            began_s = time.monotonic()
            assert [frame.t_us for frame in await stage.reader.fetch(refs(2, 40))] == [40]
            assert time.monotonic() - began_s < 0.25


async def test_an_owner_that_hangs_costs_half_a_second_at_most() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE, reply_timeout_us=2_000_000) as stage:
            await spilled(stage)
            other = OwnerKeys.of("livelens", "ab" * 8)
            server.cli("SET", other.alive, "1")
            server.cli("HSET", stage.window._redis._keys(GATE, FIRST_LIFE).life, "owner", "ab" * 8)
            began_s = time.monotonic()
            assert [frame.t_us for frame in await stage.reader.fetch(refs(2, 40))] == [40]
            assert LIMIT_US / 1e6 <= time.monotonic() - began_s < 3 * LIMIT_US / 1e6


async def test_forged_requests_are_counted_and_the_next_one_is_answered() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            for forged in (
                "nonsense",
                "[]",
                '{"camera":"gate","life":"life9","times":[1],"reply":"%s"}' % ("0" * 16),
            ):
                server.cli("RPUSH", stage.window._redis.owner_keys.wanted, forged)
            await until(lambda: fetched(stage, 2))
            assert stage.window.statistics()[1].forged == 2


async def test_the_owner_can_have_its_own_frames_lie_in_redis_for_others() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            await stage.put(41)  # its turn in the queue has not come yet
            nobody = make_frame_ref(CameraId("nobody"), 1)
            wanted = refs(2, 40, 41, 99)
            assert await stage.window.promote([*wanted, nobody]) == tuple(wanted[:3])
            keys = stage.window._redis._keys(GATE, FIRST_LIFE)
            for t_us in (2, 40, 41):
                assert server.cli("EXISTS", keys.frame(t_us)) == "1"


async def test_another_process_can_have_frames_lie_in_redis_without_reading_them() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=16 * SIZE) as stage:
            await spilled(stage)
            wanted = refs(2, 40, 99)
            assert await stage.reader.promote(wanted) == tuple(wanted[:2])
