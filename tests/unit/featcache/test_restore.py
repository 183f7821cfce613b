"""A process that begins again goes on with the window that its copy in Redis has kept."""

import time
from dataclasses import replace

from core.ids import make_frame_ref
from core.meter import NullMeter
from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from featcache.narrow import narrowed
from featcache.pool import MemoryPool
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.restore import restore
from featcache.settings import Settings
from featcache.window import Tier
from tests.support.published import EVER, published
from tests.support.redis_server import RedisServer, shared_server
from tests.support.windows import ENCODER, FIRST_LIFE, GATE, SECOND_LIFE, features_of, stored

SIZE = stored(1, features=features_of()).size_bytes


async def test_the_next_process_has_the_frames_and_records_that_redis_held_and_goes_on_counting() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=5 * SIZE) as stage:
            await stage.put(*range(1, 11))
            for record in (StaticSpan(1, 2), Gap(3, None, GapReason.STALLED)):
                await stage.window.put_record(GATE, record, incarnation=FIRST_LIFE)
            await stage.until_published(*range(6, 11))
            before = await stage.window.fetch([stored(t, features=features_of()).ref for t in range(6, 11)])
        async with published(server, budget_bytes=5 * SIZE) as stage:
            assert [info.t_us for info in await stage.window.index(GATE, EVER)] == list(range(6, 11))
            assert (await stage.window.head(GATE)).next_seq == 11
            assert await stage.window.fetch([frame.ref for frame in before]) == before
            assert len(await stage.window.records(GATE, EVER)) == 2
            await stage.until_published(*range(6, 11))
            assert list(await stage.tiers()) == list(range(6, 11))  # what only the old process held is gone
            await stage.put(11)
            await stage.until_published(*range(7, 12))


async def test_another_life_or_none_is_not_taken_over() -> None:
    redis = RedisSettings(url=shared_server().url)
    window = RedisWindow(redis, settings=Settings(), meter=NullMeter(), behind=Tier.MEMORY)
    pool = MemoryPool(Settings(), meter=NullMeter())
    await pool.open_camera(GATE, SECOND_LIFE)
    assert await restore(pool, window, GATE, SECOND_LIFE, within_us=3_000_000) == 0
    await window.open_camera(GATE, FIRST_LIFE)
    await window.put(stored(10), incarnation=FIRST_LIFE)
    assert await restore(pool, window, GATE, SECOND_LIFE, within_us=3_000_000) == 0
    assert await pool.index(GATE, EVER) == ()
    await window.aclose()


async def test_narrow_features_stay_narrow_and_a_forged_value_is_left_out() -> None:
    redis = RedisSettings(url=shared_server().url)
    window = RedisWindow(redis, settings=Settings(), meter=NullMeter(), behind=Tier.MEMORY)
    pool = MemoryPool(Settings(), meter=NullMeter())
    await window.open_camera(GATE, FIRST_LIFE)
    for t_us in (10, 20):
        frame = stored(t_us, features=narrowed(features_of(seed=t_us)))
        await window.put(
            replace(frame, ref=make_frame_ref(GATE, t_us, encoder=ENCODER, detail="4i8")),
            incarnation=FIRST_LIFE,
        )
    await window._link.run(GATE, [("SET", window._keys(GATE, FIRST_LIFE).frame(20), b"forged")])
    await pool.open_camera(GATE, FIRST_LIFE)
    assert await restore(pool, window, GATE, FIRST_LIFE, within_us=3_000_000) == 1
    kept = pool.kept(GATE, 10)
    assert kept is not None
    assert kept.features is not None
    assert kept.features.dtype.narrow
    assert [info.t_us for info in await pool.index(GATE, Span(0, 100))] == [10]
    await window.aclose()


async def test_a_redis_that_hangs_delays_the_start_no_longer_than_set() -> None:
    with RedisServer() as server:
        redis = RedisSettings(url=server.url, reply_timeout_us=5_000_000, operation_timeout_us=9_000_000)
        window = RedisWindow(redis, settings=Settings(), meter=NullMeter(), behind=Tier.MEMORY)
        pool = MemoryPool(Settings(), meter=NullMeter())
        await pool.open_camera(GATE, FIRST_LIFE)
        server.freeze()
        began_s = time.monotonic()
        assert await restore(pool, window, GATE, FIRST_LIFE, within_us=200_000) == 0
        assert time.monotonic() - began_s < 2
        server.thaw()
        await window.aclose()
