"""Publishing from the pool: what is new soon, all of it after an outage, and nothing of another's camera."""

from core.meter import Metric, NullMeter
from core.records import Gap, GapReason, StaticSpan
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import Tier
from tests.support.published import EVER, published, until
from tests.support.redis_server import RedisServer
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, YARD, features_of, stored


async def test_what_the_pool_has_stored_is_published() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1, 2)
            await stage.window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            await stage.until_published(1, 2)
            await until(lambda: stage.window.health.up)
            await until(lambda: stage.meter.gauges.get((Metric.REDIS_UP, ())) == 1)
            assert await stage.reader.records(GATE, EVER) == (StaticSpan(1, 2),)
            assert stage.meter.total(Metric.PUBLISHED) == 2


async def test_after_a_kill_and_a_restart_the_whole_window_of_the_pool_is_back() -> None:
    with RedisServer() as server:
        async with published(server, capacity=4) as stage:
            await stage.window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            await stage.put(1)
            await stage.until_published(1)
            server.kill()
            await stage.put(*range(2, 30))
            await until(lambda: stage.window.health.outages)
            assert set((await stage.shown()).values()) == {Tier.MEMORY}
            assert not stage.window.health.up
            server.start()
            await stage.until_published(*range(1, 30))
            assert await stage.reader.records(GATE, EVER) == (StaticSpan(1, 2),)
            assert stage.window.health.outages == 1
            assert stage.meter.counts[Metric.REDIS_OUTAGES, (("fault", "away"),)] == 1


async def test_an_emptied_redis_is_noticed_without_a_write_and_filled_newest_first_as_far_as_it_may_hold() -> (
    None
):
    with RedisServer() as server:
        size = stored(1, features=features_of()).size_bytes
        async with published(server, budget_bytes=10 * size) as stage:
            await stage.put(*range(1, 31))
            await stage.until_published(*range(21, 31))
            server.cli("FLUSHALL")
            await stage.until_published(*range(21, 31))
            assert list(await stage.tiers()) == list(range(1, 31))
            assert (await stage.reader.head(GATE)).frames == 30


async def test_what_leaves_redis_stays_listed_under_the_tier_that_has_it() -> None:
    with RedisServer() as server:
        size = stored(1, features=features_of()).size_bytes
        async with published(server, budget_bytes=3 * size) as stage:
            await stage.put(*range(1, 11))
            await stage.until_published(8, 9, 10)
            tiers = await stage.tiers()
            assert tiers == await stage.shown()
            assert tiers[7] is Tier.MEMORY
            assert stage.meter.counts[Metric.EVICTED, (("reason", "spilled"),)] == 7


async def test_what_ages_out_of_the_pool_leaves_the_index_in_redis_too() -> None:
    with RedisServer() as server:
        size = stored(1, features=features_of()).size_bytes
        async with published(server, settings=Settings(pool_budget_bytes=5 * size)) as stage:
            gap = Gap(1, None, GapReason.STALLED)
            for record in (gap, StaticSpan(1, 2), StaticSpan(5, 30)):
                await stage.window.put_record(GATE, record, incarnation=FIRST_LIFE)
            await stage.put(*range(1, 21))
            await stage.until_published(*range(16, 21))
            assert list(await stage.tiers()) == list(range(16, 21))
            assert len(await stage.reader.records(GATE, EVER)) == 3  # records outlive frames
            assert (await stage.reader.head(GATE)).evicted_before_us == 16
            await stage.window.trim(GATE, before_us=18)
            await stage.until_published(18, 19, 20)

            async def records_gone() -> bool:
                return await stage.reader.records(GATE, EVER) == (gap, StaticSpan(5, 30))

            await until(records_gone)


async def test_a_camera_that_somebody_else_took_over_is_left_to_them() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1)
            await stage.until_published(1)
            other = RedisWindow(RedisSettings(url=server.url), settings=Settings(), meter=NullMeter())
            await other.open_camera(GATE, FIRST_LIFE)
            await stage.put(2)
            await until(lambda: not stage.window.statistics()[0].waiting)
            await other.put(stored(3), incarnation=FIRST_LIFE)
            assert set((await stage.shown()).values()) == {Tier.MEMORY}
            await stage.put(4)
            assert list(await stage.tiers()) == [1, 3]
            await other.aclose()


async def test_the_queue_drops_its_oldest_and_the_pool_still_has_them() -> None:
    with RedisServer() as server:
        async with published(server, capacity=4) as stage:
            await stage.put(0)
            await stage.until_published(0)
            await stage.put(*range(1, 50))  # all of them before the publisher has its turn
            assert stage.window.statistics()[0].dropped > 40
            await stage.until_published(*range(50))


async def test_a_frame_larger_than_the_budget_of_redis_is_listed_and_the_others_are_published() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=20_000) as stage:
            await stage.put(1)
            await stage.store(stored(2, jpeg=b"x" * 30_000))
            await stage.put(3)
            await stage.until_published(1, 3)
            assert (await stage.tiers())[2] is Tier.MEMORY


async def test_several_cameras_are_brought_up_in_turns_and_a_new_life_ends_the_old_one() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.window.open_camera(YARD, FIRST_LIFE)
            await stage.put(*range(1, 40))
            await stage.put(*range(1, 40), camera_id=YARD)
            await stage.until_published(*range(1, 40))
            await stage.until_published(*range(1, 40), camera_id=YARD)
            await stage.window.open_camera(YARD, SECOND_LIFE)
            await stage.put(50, camera_id=YARD, life=SECOND_LIFE)
            await stage.until_published(50, camera_id=YARD)
            assert (await stage.reader.head(YARD)).incarnation == SECOND_LIFE


async def test_the_clock_of_redis_is_compared_with_ours() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await until(lambda: stage.window.health.clock_offset_us is not None)
            offset_us = stage.window.health.clock_offset_us
            assert offset_us is not None
            assert abs(offset_us) < 1_000_000
            assert (
                stage.meter.gauges[Metric.REDIS_CLOCK_OFFSET_SECONDS, ()]
                == stage.window.health.clock_offset_us / 1e6
            )
