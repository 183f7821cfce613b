"""Lives and records on a real server, as the worker that owns them writes them."""

from collections.abc import AsyncIterator

import pytest

from core.meter import Metric, TallyMeter
from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from featcache.errors import StaleIncarnation
from featcache.redis import RedisWindow
from featcache.redis_lives import LifeMissing, refusal
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import Tier
from tests.support.redis_server import shared_server
from tests.support.windows import FIRST_LIFE, GATE, stored

EVER = Span(0, 1 << 60)


@pytest.fixture
async def window() -> AsyncIterator[RedisWindow]:
    redis = RedisSettings(url=shared_server().url, ttl_us=1_000_000)
    window = RedisWindow(redis, settings=Settings(), meter=TallyMeter(), behind=Tier.MEMORY)
    await window.open_camera(GATE, FIRST_LIFE)
    yield window
    await window.aclose()


def test_a_refusal_tells_a_lost_life_from_one_that_is_anothers() -> None:
    assert isinstance(refusal(GATE, b"missing"), LifeMissing)
    for word in (b"gone", b"fenced"):
        assert type(refusal(GATE, word)) is StaleIncarnation


async def test_many_records_go_in_one_step_and_replace_by_key(window: RedisWindow) -> None:
    records = [StaticSpan(t, t + 1) for t in range(1200)]
    await window.put_records(GATE, [*records, StaticSpan(5, 9)], incarnation=FIRST_LIFE)
    held = await window.records(GATE, EVER)
    assert len(held) == 1200
    assert held[5] == StaticSpan(5, 9)


async def test_the_copy_follows_the_pool_in_what_has_aged_out_also_of_frames_it_never_had(
    window: RedisWindow,
) -> None:
    gap = Gap(1, None, GapReason.STALLED)
    await window.put_records(GATE, [gap, StaticSpan(1, 5), StaticSpan(10, 20)], incarnation=FIRST_LIFE)
    for t_us in (10, 20, 30):
        await window.put(stored(t_us), incarnation=FIRST_LIFE)
    await window.follow(GATE, mark_us=35, records_before_us=6)
    head = await window.head(GATE)
    assert (head.frames, head.evicted_before_us) == (0, 35)
    assert await window.records(GATE, EVER) == (gap, StaticSpan(10, 20))


async def test_an_owner_with_a_pool_leaves_the_counting_of_what_ages_out_to_it(window: RedisWindow) -> None:
    await window.put(stored(10), incarnation=FIRST_LIFE)
    await window.put_record(GATE, StaticSpan(1, 5), incarnation=FIRST_LIFE)
    await window.trim(GATE, before_us=100)
    meter = window._meter
    assert isinstance(meter, TallyMeter)
    assert (meter.total(Metric.EVICTED), meter.total(Metric.RECORDS_EVICTED)) == (0, 0)


async def test_what_is_kept_for_the_retention_does_not_expire_before(window: RedisWindow) -> None:
    await window.put(stored(10), incarnation=FIRST_LIFE)
    server = window._redis.url
    assert server
    (ttl_ms,) = await window._link.run(GATE, [("PTTL", window._keys(GATE, FIRST_LIFE).frame(10))])
    assert ttl_ms > Settings().retention_us // 1000
