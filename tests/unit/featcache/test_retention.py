import asyncio
import time
from collections.abc import Iterable

import pytest

from core.clock import ManualClock, ServiceClock
from core.ids import CameraId
from core.meter import NullMeter
from core.records import Gap, GapReason
from core.spans import Span
from featcache.errors import WindowUnavailable
from featcache.pool import MemoryPool
from featcache.retention import keep_trimmed, trim_all
from featcache.settings import Settings
from tests.support.windows import FIRST_LIFE, GATE, NOON_US, SECOND_US, YARD, stored

SETTINGS = Settings(retention_us=10 * SECOND_US)
EVER = Span(0, 1 << 60)


async def pool_with_a_frame() -> MemoryPool:
    pool = MemoryPool(SETTINGS, meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.put(stored(NOON_US), incarnation=FIRST_LIFE)
    return pool


async def test_frames_of_a_silent_camera_age_out_with_the_clock() -> None:
    pool = await pool_with_a_frame()
    gap = Gap(NOON_US + 1, None, GapReason.UNREACHABLE)
    await pool.put_record(GATE, gap, incarnation=FIRST_LIFE)
    assert await trim_all(pool, [GATE], now_us=NOON_US + 10 * SECOND_US, settings=SETTINGS) == 0
    assert await trim_all(pool, [GATE], now_us=NOON_US + 10 * SECOND_US + 1, settings=SETTINGS) == 1
    assert (await pool.head(GATE)).evicted_before_us == NOON_US + 1
    assert await pool.records(GATE, EVER) == (gap,)


async def test_cameras_deleted_meanwhile_are_skipped() -> None:
    pool = await pool_with_a_frame()
    assert await trim_all(pool, [YARD, GATE], now_us=NOON_US + 60 * SECOND_US, settings=SETTINGS) == 1


async def test_a_window_that_is_away_does_not_end_the_round() -> None:
    class Away(MemoryPool):
        async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
            if camera_id == YARD:
                raise WindowUnavailable(camera_id)
            return await super().trim(camera_id, before_us=before_us)

    pool = Away(SETTINGS, meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.put(stored(NOON_US), incarnation=FIRST_LIFE)
    assert await trim_all(pool, [YARD, GATE], now_us=NOON_US + 60 * SECOND_US, settings=SETTINGS) == 1


async def test_it_goes_on_until_cancelled_and_asks_for_the_cameras_each_time() -> None:
    pool, clock, rounds = await pool_with_a_frame(), ManualClock(NOON_US), 0
    enough = asyncio.Event()

    def cameras() -> Iterable[CameraId]:
        nonlocal rounds
        rounds += 1
        clock.advance(11 * SECOND_US)
        if rounds == 3:
            enough.set()
        return [GATE]

    task = asyncio.create_task(keep_trimmed(pool, cameras, clock=clock, settings=SETTINGS, every_us=1))
    async with asyncio.timeout(5):
        await enough.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await pool.head(GATE)).frames == 0


@pytest.mark.parametrize("step_us", [3_600 * SECOND_US, -3_600 * SECOND_US])
async def test_a_step_of_the_hosts_clock_expires_nothing_and_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, step_us: int
) -> None:
    host_us = {"wall": NOON_US, "mono": 0}
    monkeypatch.setattr(time, "time_ns", lambda: host_us["wall"] * 1_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: host_us["mono"] * 1_000)
    clock, settings = ServiceClock(), Settings(retention_us=60 * SECOND_US)
    pool = MemoryPool(settings, meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    for second in range(40):
        await pool.put(stored(clock.now_us(), seq=second), incarnation=FIRST_LIFE)
        for name in host_us:
            host_us[name] += SECOND_US
        if second == 20:
            host_us["wall"] += step_us
        assert await trim_all(pool, [GATE], now_us=clock.now_us(), settings=settings) == 0
    now_us = clock.now_us()
    last_half_minute = await pool.index(GATE, Span(now_us - 30 * SECOND_US, now_us))
    assert [frame.seq for frame in last_half_minute] == list(range(10, 40))
