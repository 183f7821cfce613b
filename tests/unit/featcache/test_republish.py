"""What Redis lacks of the pool is found, and what nobody holds is taken out of its index."""

from core.meter import NullMeter
from core.records import StaticSpan
from core.spans import Span
from featcache.pool import MemoryPool
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.republish import reconcile
from featcache.settings import Settings
from featcache.window import Tier
from tests.support.redis_server import shared_server
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

EVER = Span(0, 1 << 60)


async def test_index_and_records_become_those_of_the_pool_and_missing_values_are_named() -> None:
    pool = MemoryPool(Settings(), meter=NullMeter())
    redis = RedisSettings(url=shared_server().url)
    window = RedisWindow(redis, settings=Settings(), meter=NullMeter(), behind=Tier.MEMORY)
    await pool.open_camera(GATE, FIRST_LIFE)
    await window.open_camera(GATE, FIRST_LIFE)
    for t_us in (10, 20, 30):  # 10 is of an earlier process, 20 is the same, 30 another ref of its moment
        await window.put(stored(t_us), incarnation=FIRST_LIFE)
    for frame in (stored(20), stored(30, features=features_of()), stored(40)):
        await pool.put(frame, incarnation=FIRST_LIFE)
    await pool.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)

    missing = await reconcile(pool, window, GATE, FIRST_LIFE)

    assert [info.t_us for info in missing] == [30, 40]
    assert [info.tier for info in await pool.index(GATE, EVER)] == [Tier.REDIS, Tier.MEMORY, Tier.MEMORY]
    assert [info.ref for info in await window.index(GATE, EVER)] == [
        info.ref for info in await pool.index(GATE, EVER)
    ]
    assert await window.records(GATE, EVER) == (StaticSpan(1, 2),)
    await window.aclose()
