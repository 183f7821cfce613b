import asyncio
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.ids import CameraId, Incarnation
from core.meter import Metric, NullMeter, TallyMeter
from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from featcache.errors import PagesLost, StaleIncarnation
from featcache.narrow import narrowed, widened
from featcache.paged_memory import PagedMemory
from featcache.pool import CameraHolding, MemoryPool
from featcache.settings import Settings
from featcache.window import Window
from tests.support.windows import FIRST_LIFE, GATE, NOON_US, SECOND_US, YARD, features_of, stored

EVER = Span(0, 1 << 60)
CAMERAS = [CameraId(name) for name in "abcd"]


def pool_of(meter=None, **limits: int) -> MemoryPool:
    return MemoryPool(Settings(**limits), meter=meter or NullMeter())


def test_it_is_a_window() -> None:
    window: Window = pool_of()
    assert window is not None


puts = st.lists(st.tuples(st.sampled_from(CAMERAS), st.integers(0, 500), st.integers(0, 3_000)), max_size=80)


@given(puts)
@hypothesis_settings(deadline=None)
def test_it_never_holds_more_than_the_budget_and_its_sums_are_right(puts) -> None:
    async def run() -> None:
        tally = TallyMeter()
        pool = pool_of(tally, pool_budget_bytes=12_000)
        for camera_id in CAMERAS:
            await pool.open_camera(camera_id, FIRST_LIFE)
        for camera_id, t_us, size in puts:
            await pool.put(stored(t_us, camera_id=camera_id, jpeg=b"x" * size), incarnation=FIRST_LIFE)
            statistics = pool.statistics()
            assert statistics.size_bytes <= 12_000
        statistics = pool.statistics()
        indexes = [await pool.index(camera_id, EVER) for camera_id in CAMERAS]
        assert [len(index) for index in indexes] == [one.frames for one in statistics.cameras]
        assert sum(map(len, indexes)) == statistics.frames
        assert sum(info.size_bytes for index in indexes for info in index) == statistics.size_bytes
        assert sum(n for _, n in statistics.evicted) == tally.total(Metric.EVICTED)

    asyncio.run(run())


@given(puts)
@hypothesis_settings(deadline=None)
def test_a_camera_within_its_even_share_never_loses_a_frame(puts) -> None:
    async def run() -> None:
        quiet = CameraId("quiet")
        pool = pool_of(pool_budget_bytes=10_000)  # an even share of five cameras is 2,000
        for camera_id in [*CAMERAS, quiet]:
            await pool.open_camera(camera_id, FIRST_LIFE)
        for t_us in (0, 1, 2):  # the oldest frames of all, 1,548 bytes
            await pool.put(stored(t_us, camera_id=quiet), incarnation=FIRST_LIFE)
        for camera_id, t_us, size in puts:
            await pool.put(stored(t_us, camera_id=camera_id, jpeg=b"x" * size), incarnation=FIRST_LIFE)
        assert len(await pool.index(quiet, EVER)) == 3

    asyncio.run(run())


async def test_statistics_are_a_snapshot() -> None:
    pool = pool_of(pool_budget_bytes=2_000, max_records=1)
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.open_camera(YARD, FIRST_LIFE)
    before = pool.statistics()
    for t_us in range(1, 6):
        await pool.put(stored(t_us), incarnation=FIRST_LIFE)
    for start_us in (1, 2):
        await pool.put_record(GATE, StaticSpan(start_us, 10), incarnation=FIRST_LIFE)
    await pool.trim(GATE, before_us=4)
    await pool.put(stored(1), incarnation=FIRST_LIFE)
    after = pool.statistics()
    assert (before.frames, before.size_bytes) == (0, 0)
    size = stored(1).size_bytes
    assert after.cameras == (CameraHolding(GATE, 2, 1, 2 * size), CameraHolding(YARD, 0, 0, 0))
    assert (after.frames, after.size_bytes, after.budget_bytes) == (2, 2 * size, 2_000)
    assert dict(after.evicted) == {"budget": 2, "trim": 1, "late": 1}
    assert dict(after.records_evicted) == {"count": 1}
    with pytest.raises(FrozenInstanceError):
        after.frames = 0  # type: ignore[misc]  # the point of the test


async def test_the_gauges_fall_when_a_camera_is_deleted() -> None:
    tally = TallyMeter()
    pool = pool_of(tally)
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.put(stored(1), incarnation=FIRST_LIFE)
    await pool.delete_camera(GATE)
    assert tally.gauges[Metric.WINDOW_FRAMES, (("tier", "memory"),)] == 0
    assert tally.gauges[Metric.WINDOW_BYTES, (("tier", "memory"),)] == 0
    assert tally.total(Metric.EVICTED) == 0


async def test_what_the_retention_takes_is_counted_as_such() -> None:
    tally = TallyMeter()
    pool = pool_of(tally, retention_us=SECOND_US)
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.put(stored(NOON_US), incarnation=FIRST_LIFE)
    await pool.put_record(GATE, StaticSpan(NOON_US, NOON_US + 1), incarnation=FIRST_LIFE)
    await pool.put_record(GATE, Gap(NOON_US, None, GapReason.STALLED), incarnation=FIRST_LIFE)
    await pool.put(stored(NOON_US + 2 * SECOND_US), incarnation=FIRST_LIFE)
    assert tally.counts == {
        (Metric.EVICTED, (("reason", "retention"),)): 1,
        (Metric.RECORDS_EVICTED, (("reason", "retention"),)): 1,
    }


async def test_one_frame_per_camera_more_than_the_budget_holds_costs_the_oldest() -> None:
    size = stored(1).size_bytes
    pool = pool_of(pool_budget_bytes=3 * size)
    for number, camera_id in enumerate(CAMERAS):
        await pool.open_camera(camera_id, FIRST_LIFE)
        await pool.put(stored(100 - number, camera_id=camera_id), incarnation=FIRST_LIFE)
    assert [len(await pool.index(camera_id, EVER)) for camera_id in CAMERAS] == [1, 1, 1, 0]


async def test_the_list_of_ended_lives_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryPool, "_REMEMBERED_DELETIONS", 3)
    pool = pool_of()
    for number in range(6):
        await pool.open_camera(GATE, Incarnation(str(number)))
    for ended in ("2", "3", "4"):
        with pytest.raises(StaleIncarnation):
            await pool.open_camera(GATE, Incarnation(ended))
    await pool.open_camera(GATE, Incarnation("0"))


async def test_ten_busy_minutes_are_held_and_indexed_whole() -> None:
    pool = pool_of()
    await pool.open_camera(GATE, FIRST_LIFE)
    for number in range(6_000):  # ten minutes at 10 frames a second
        await pool.put(stored(NOON_US + number * 100_000, seq=number), incarnation=FIRST_LIFE)
    index = await pool.index(GATE, Span(NOON_US, NOON_US + 600 * SECOND_US))
    assert [info.seq for info in index] == list(range(6_000))
    assert len(await pool.fetch([info.ref for info in index[::100]])) == 60


# features on a device


def paged_pool(meter=None, *, pages: int, **limits: int) -> tuple[MemoryPool, PagedMemory]:
    memory = PagedMemory(pages * 64, "cpu", page_bytes=64)
    return MemoryPool(Settings(**limits), meter=meter or NullMeter(), pages=memory), memory


@pytest.mark.torch
async def test_features_on_a_device_come_on_top_of_the_budget_and_are_told_by_tier() -> None:
    tally, one = TallyMeter(), stored(1, features=features_of(tokens=64))  # 1,024 bytes, 16 pages
    pool, _ = paged_pool(tally, pages=48, pool_budget_bytes=2 * one.size_bytes + 3 * (one.size_bytes - 1024))
    await pool.open_camera(GATE, FIRST_LIFE)
    for t_us in range(1, 8):
        await pool.put(stored(t_us, features=features_of(tokens=64, seed=t_us)), incarnation=FIRST_LIFE)
    infos = await pool.index(GATE, EVER)
    assert [(info.t_us, info.tier.value) for info in infos] == [
        (3, "memory"),
        (4, "memory"),
        (5, "gpu"),
        (6, "gpu"),
        (7, "gpu"),
    ]
    frames = await pool.fetch([info.ref for info in infos])
    assert [frame.features for frame in frames] == [features_of(tokens=64, seed=t) for t in range(3, 8)]
    statistics = pool.statistics()
    assert (statistics.frames, statistics.size_bytes) == (5, statistics.budget_bytes)
    assert (statistics.gpu_frames, statistics.gpu_bytes, statistics.gpu_budget_bytes) == (3, 3072, 3072)
    assert (await pool.head(GATE)).size_bytes == 5 * one.size_bytes
    for tier, frames_there, bytes_there in (("memory", 2, statistics.size_bytes), ("gpu", 3, 3072)):
        assert tally.gauges[Metric.WINDOW_FRAMES, (("tier", tier),)] == frames_there
        assert tally.gauges[Metric.WINDOW_BYTES, (("tier", tier),)] == bytes_there


@pytest.mark.torch
async def test_what_is_deleted_or_trimmed_gives_its_pages_back() -> None:
    pool, memory = paged_pool(pages=10)
    for camera_id in (GATE, YARD):
        await pool.open_camera(camera_id, FIRST_LIFE)
        for t_us in range(1, 6):
            frame = stored(t_us, camera_id=camera_id, features=features_of())
            await pool.put(frame, incarnation=FIRST_LIFE)
    assert memory.statistics().free == 0
    await pool.trim(YARD, before_us=4)
    assert memory.statistics().free == 3
    await pool.delete_camera(GATE)
    assert memory.statistics().free == 8


@pytest.mark.torch
async def test_features_at_8_bit_lie_on_the_device_as_they_are_and_are_read_widened() -> None:
    pool, memory = paged_pool(pages=10)
    narrow = narrowed(features_of(tokens=8))
    await pool.open_camera(GATE, FIRST_LIFE)
    frame = stored(1, features=narrow)
    await pool.put(frame, incarnation=FIRST_LIFE)
    assert memory.statistics().free == 10 - 2  # 96 bytes
    (found,) = await pool.fetch([frame.ref])
    assert found == widened(frame)
    assert pool.kept(GATE, 1) == frame


@pytest.mark.torch
@pytest.mark.logs_errors
@pytest.mark.parametrize("direction", ["read", "_write"])
async def test_a_device_that_fails_costs_its_frames_and_the_window_goes_on_in_memory(
    monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    tally = TallyMeter()
    pool, memory = paged_pool(tally, pages=4)
    await pool.open_camera(GATE, FIRST_LIFE)
    await pool.put(stored(1), incarnation=FIRST_LIFE)
    for t_us in (2, 3, 4, 5):
        await pool.put(stored(t_us, features=features_of(seed=t_us)), incarnation=FIRST_LIFE)

    def fail(*_: object) -> memoryview:
        raise PagesLost("cpu")

    monkeypatch.setattr(memory, direction, fail)
    for t_us in (6, 7):
        await pool.put(stored(t_us, features=features_of(seed=t_us)), incarnation=FIRST_LIFE)
    infos = await pool.index(GATE, EVER)
    brought_back = [] if direction == "read" else [2]  # it made room before the new one could not be written
    assert [info.t_us for info in infos] == [1, *brought_back, 6, 7]
    assert {info.tier.value for info in infos} == {"memory"}
    frames = await pool.fetch([info.ref for info in infos])
    assert frames[-1].features == features_of(seed=7)
    statistics = pool.statistics()
    assert (statistics.gpu_frames, statistics.gpu_bytes, statistics.gpu_budget_bytes) == (0, 0, 0)
    assert sum(info.size_bytes for info in infos) == statistics.size_bytes
    assert len(infos) == statistics.frames
    assert tally.counts[Metric.EVICTED, (("reason", "pages_lost"),)] == 4 - len(brought_back)
    assert tally.gauges[Metric.WINDOW_FRAMES, (("tier", "gpu"),)] == 0
