"""What every window does, whatever it keeps its frames in."""

import asyncio

import pytest

from core.ids import CameraId, FrameRef, InvalidFrameRef
from core.meter import Metric, TallyMeter
from core.records import (
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    ObjectTrack,
    SceneChange,
    SceneChangeKind,
    StaticSpan,
)
from core.spans import Span
from featcache.errors import FrameTooLarge, StaleIncarnation, UnknownCamera
from featcache.settings import Settings
from featcache.window import Window
from tests.support.windows import (
    FIRST_LIFE,
    GATE,
    NOON_US,
    SECOND_LIFE,
    SECOND_US,
    WINDOWS,
    YARD,
    OpenWindow,
    features_of,
    stored,
)

EVER = Span(0, 1 << 60)


@pytest.fixture(params=WINDOWS, ids=lambda opener: opener.__name__)
def open_window(request: pytest.FixtureRequest) -> OpenWindow:
    return request.param


@pytest.fixture
async def window(open_window: OpenWindow):
    async with open_window() as opened:
        await opened.open_camera(GATE, FIRST_LIFE)
        yield opened


async def put_all(window: Window, *times_us: int, camera_id: CameraId = GATE) -> None:
    for seq, t_us in enumerate(times_us):
        await window.put(stored(t_us, camera_id=camera_id, seq=seq), incarnation=FIRST_LIFE)


async def times(window: Window, span: Span = EVER, camera_id: CameraId = GATE) -> list[int]:
    return [frame.t_us for frame in await window.index(camera_id, span)]


# reading


async def test_a_span_includes_its_start_and_not_its_end(window: Window) -> None:
    await put_all(window, 10, 20, 30)
    assert await times(window, Span(10, 30)) == [10, 20]


async def test_frames_come_oldest_first_whatever_order_they_were_put_in(window: Window) -> None:
    await put_all(window, 30, 10, 20)
    assert await times(window) == [10, 20, 30]


async def test_a_span_without_frames_is_empty(window: Window) -> None:
    await put_all(window, 10)
    assert await window.index(GATE, Span(11, 20)) == ()


async def test_the_index_says_what_is_known_of_a_frame(window: Window) -> None:
    frame = stored(10, seq=7, features=features_of(tokens=4), jpeg=b"x" * 100, motion=0.25)
    await window.put(frame, incarnation=FIRST_LIFE)
    (info,) = await window.index(GATE, EVER)
    assert (info.ref, info.t_us, info.seq, info.motion) == (frame.ref, 10, 7, 0.25)
    assert (info.reason, info.tenths, info.tokens) == (frame.reason, frame.tenths, 4)
    assert (info.size_bytes, info.grid) == (frame.size_bytes, (1, 4, 4))
    await window.put(stored(20), incarnation=FIRST_LIFE)
    assert (await window.newest(GATE, before_us=30, count=1))[0].grid is None


async def test_newest_gives_the_last_frames_before_a_time_oldest_first(window: Window) -> None:
    await put_all(window, 10, 20, 30, 40)
    found = await window.newest(GATE, before_us=40, count=2)
    assert [frame.t_us for frame in found] == [20, 30]


async def test_newest_gives_fewer_where_there_are_fewer(window: Window) -> None:
    await put_all(window, 10)
    assert len(await window.newest(GATE, before_us=11, count=5)) == 1
    assert await window.newest(GATE, before_us=10, count=5) == ()
    assert await window.newest(GATE, before_us=11, count=0) == ()


async def test_at_finds_the_frame_of_exactly_this_moment(window: Window) -> None:
    await put_all(window, 10, 20)
    found = await window.at(GATE, 20)
    assert found is not None
    assert found.t_us == 20
    assert await window.at(GATE, 15) is None


async def test_fetch_keeps_the_order_asked(window: Window) -> None:
    await put_all(window, 10, 20, 30)
    refs = [stored(t).ref for t in (30, 10, 20)]
    assert [frame.ref for frame in await window.fetch(refs)] == refs


async def test_fetch_leaves_out_what_is_no_longer_held(window: Window) -> None:
    await put_all(window, 10, 20)
    await window.trim(GATE, before_us=20)
    found = await window.fetch([stored(10).ref, stored(20).ref, stored(99).ref])
    assert [frame.t_us for frame in found] == [20]


async def test_fetch_leaves_out_frames_of_cameras_it_does_not_know(window: Window) -> None:
    assert await window.fetch([stored(10, camera_id=YARD).ref]) == ()


async def test_fetch_goes_by_the_whole_ref(window: Window) -> None:
    await put_all(window, 10)
    assert await window.fetch([stored(10, features=features_of()).ref]) == ()


@pytest.mark.parametrize("ref", ["", "gate", "gate/x/jpeg/0", "GATE/1/jpeg/0", "gate/1/jpeg/0/more"])
async def test_fetch_refuses_a_malformed_ref(window: Window, ref: str) -> None:
    with pytest.raises(InvalidFrameRef):
        await window.fetch([FrameRef(ref)])


async def test_frames_come_back_bit_for_bit(window: Window) -> None:
    frame = stored(10, features=features_of(tokens=7, width=24, seed=3), jpeg=bytes(range(256)))
    await window.put(frame, incarnation=FIRST_LIFE)
    (back,) = await window.fetch([frame.ref])
    assert back == frame
    assert back.features is not None
    assert back.features.data == frame.features.data


async def test_unknown_cameras_are_named(window: Window) -> None:
    for call in (
        window.head(YARD),
        window.index(YARD, EVER),
        window.newest(YARD, before_us=1, count=1),
        window.at(YARD, 1),
        window.records(YARD, EVER),
        window.trim(YARD, before_us=1),
    ):
        with pytest.raises(UnknownCamera) as caught:
            await call
        assert caught.value.camera_id == YARD


# the head


async def test_the_head_of_an_empty_window_knows_no_times(window: Window) -> None:
    head = await window.head(GATE)
    assert (head.oldest_us, head.newest_us, head.evicted_before_us) == (None, None, None)
    assert (head.frames, head.size_bytes, head.next_seq) == (0, 0, 0)
    assert head.incarnation == FIRST_LIFE


async def test_the_head_says_how_far_the_window_reaches(window: Window) -> None:
    await put_all(window, 10, 20, 30)
    head = await window.head(GATE)
    assert (head.oldest_us, head.newest_us, head.frames, head.next_seq) == (10, 30, 3, 3)
    assert head.size_bytes == sum(stored(t).size_bytes for t in (10, 20, 30))


async def test_the_numbers_go_on_after_everything_has_aged_out(window: Window) -> None:
    await put_all(window, 10, 20)
    await window.trim(GATE, before_us=100)
    head = await window.head(GATE)
    assert (head.frames, head.next_seq) == (0, 2)


# writing


async def test_the_same_ref_replaces_and_is_counted_once(window: Window) -> None:
    await window.put(stored(10, jpeg=b"a" * 1000), incarnation=FIRST_LIFE)
    await window.put(stored(10, jpeg=b"b" * 10), incarnation=FIRST_LIFE)
    head = await window.head(GATE)
    assert (head.frames, head.size_bytes) == (1, stored(10, jpeg=b"b" * 10).size_bytes)
    found = await window.at(GATE, 10)
    assert found is not None
    assert found.jpeg == b"b" * 10


async def test_a_moment_has_one_frame_even_under_another_ref(window: Window) -> None:
    plain, encoded = stored(10), stored(10, features=features_of())
    await window.put(plain, incarnation=FIRST_LIFE)
    await window.put(encoded, incarnation=FIRST_LIFE)
    assert await window.fetch([plain.ref, encoded.ref]) == (encoded,)
    assert await times(window) == [10]


async def test_a_frame_whose_ref_names_another_moment_is_refused(window: Window) -> None:
    frame = stored(10)
    for ref in (stored(11).ref, stored(10, camera_id=YARD).ref, FrameRef("nonsense")):
        wrong = type(frame)(
            ref, GATE, 10, 0, frame.reason, 0.0, False, frame.jpeg, frame.width_px, frame.height_px
        )
        with pytest.raises(InvalidFrameRef):
            await window.put(wrong, incarnation=FIRST_LIFE)


# lives of a camera


async def test_writes_of_another_life_are_refused(window: Window) -> None:
    with pytest.raises(StaleIncarnation):
        await window.put(stored(10), incarnation=SECOND_LIFE)
    with pytest.raises(StaleIncarnation):
        await window.put_record(GATE, StaticSpan(1, 2), incarnation=SECOND_LIFE)


async def test_writes_to_a_camera_that_was_never_opened_are_refused(window: Window) -> None:
    with pytest.raises(StaleIncarnation):
        await window.put(stored(10, camera_id=YARD), incarnation=FIRST_LIFE)


async def test_opening_the_same_life_again_keeps_its_frames(window: Window) -> None:
    await put_all(window, 10)
    await window.open_camera(GATE, FIRST_LIFE)
    assert await times(window) == [10]


async def test_opening_another_life_deletes_what_the_old_one_left(window: Window) -> None:
    await put_all(window, 10, 20)
    await window.trim(GATE, before_us=20)
    await window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
    await window.open_camera(GATE, SECOND_LIFE)
    head = await window.head(GATE)
    assert (head.frames, head.size_bytes, head.evicted_before_us, head.next_seq) == (0, 0, None, 0)
    assert await window.records(GATE, EVER) == ()
    with pytest.raises(StaleIncarnation):
        await window.put(stored(30), incarnation=FIRST_LIFE)


async def test_a_life_that_ended_cannot_be_opened_again(window: Window) -> None:
    await window.open_camera(GATE, SECOND_LIFE)
    with pytest.raises(StaleIncarnation):
        await window.open_camera(GATE, FIRST_LIFE)
    await window.delete_camera(GATE)
    with pytest.raises(StaleIncarnation):
        await window.open_camera(GATE, SECOND_LIFE)


async def test_deleting_a_camera_deletes_every_trace_and_says_how_many(window: Window) -> None:
    await put_all(window, 10, 20, 30)
    await window.put_record(GATE, Gap(1, None, GapReason.STALLED), incarnation=FIRST_LIFE)
    await window.open_camera(YARD, FIRST_LIFE)
    await put_all(window, 10, camera_id=YARD)
    assert await window.delete_camera(GATE) == 3
    with pytest.raises(UnknownCamera):
        await window.head(GATE)
    assert await window.fetch([stored(10).ref]) == ()
    with pytest.raises(StaleIncarnation):
        await window.put(stored(40), incarnation=FIRST_LIFE)
    assert await times(window, camera_id=YARD) == [10]


async def test_deleting_an_unknown_camera_gives_zero(window: Window) -> None:
    assert await window.delete_camera(YARD) == 0


# ageing


async def test_trim_evicts_what_is_older_and_says_how_many(window: Window) -> None:
    await put_all(window, 10, 20, 30)
    assert await window.trim(GATE, before_us=30) == 2
    assert await times(window) == [30]
    assert (await window.head(GATE)).evicted_before_us == 21


async def test_a_trim_that_finds_nothing_leaves_no_mark(window: Window) -> None:
    await put_all(window, 10)
    assert await window.trim(GATE, before_us=10) == 0
    assert (await window.head(GATE)).evicted_before_us is None


async def test_the_eviction_mark_stays_when_frames_go_on(window: Window) -> None:
    await put_all(window, 10, 20)
    await window.trim(GATE, before_us=15)
    await put_all(window, 30)
    assert (await window.head(GATE)).evicted_before_us == 11


async def test_a_frame_from_before_the_mark_is_not_kept(window: Window) -> None:
    await put_all(window, 10, 20)
    await window.trim(GATE, before_us=15)
    await put_all(window, 5)
    assert await times(window) == [20]


async def test_frames_older_than_the_retention_go_when_newer_ones_come(open_window: OpenWindow) -> None:
    async with open_window(settings=Settings(retention_us=10 * SECOND_US)) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        await put_all(window, NOON_US, NOON_US + 5 * SECOND_US, NOON_US + 11 * SECOND_US)
        assert await times(window) == [NOON_US + 5 * SECOND_US, NOON_US + 11 * SECOND_US]


async def test_over_the_budget_the_oldest_frame_goes_first(open_window: OpenWindow) -> None:
    size = stored(1).size_bytes
    tally = TallyMeter()
    async with open_window(settings=Settings(pool_budget_bytes=3 * size), meter=tally) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        await put_all(window, 10, 20, 30, 40, 50)
        assert await times(window) == [30, 40, 50]
        assert (await window.head(GATE)).evicted_before_us == 21
        assert tally.total(Metric.EVICTED) == 2
        tier = (await window.newest(GATE, before_us=60, count=1))[0].tier
        assert tally.gauges[Metric.WINDOW_FRAMES, (("tier", str(tier)),)] == 3
        assert tally.gauges[Metric.WINDOW_BYTES, (("tier", str(tier)),)] == 3 * size


async def test_a_busy_camera_borrows_what_a_quiet_one_does_not_use(open_window: OpenWindow) -> None:
    size = stored(1).size_bytes
    async with open_window(settings=Settings(pool_budget_bytes=10 * size)) as window:
        for camera_id in (GATE, YARD):
            await window.open_camera(camera_id, FIRST_LIFE)
        await put_all(window, 1, 2, camera_id=YARD)
        await put_all(window, *range(10, 30))
        assert await times(window, camera_id=YARD) == [1, 2]
        assert await times(window) == list(range(22, 30))


async def test_what_was_lent_comes_back_when_its_owner_needs_it(open_window: OpenWindow) -> None:
    size = stored(1).size_bytes
    async with open_window(settings=Settings(pool_budget_bytes=10 * size)) as window:
        for camera_id in (GATE, YARD):
            await window.open_camera(camera_id, FIRST_LIFE)
        await put_all(window, *range(10, 30))
        await put_all(window, *range(30, 50), camera_id=YARD)
        assert await times(window) == [25, 26, 27, 28, 29]
        assert await times(window, camera_id=YARD) == [45, 46, 47, 48, 49]


async def test_features_count_against_the_budget(open_window: OpenWindow) -> None:
    one = stored(1, features=features_of(tokens=64, width=64))
    assert one.size_bytes > 64 * 64 * 2
    async with open_window(settings=Settings(pool_budget_bytes=2 * one.size_bytes)) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        for t_us in (1, 2, 3):
            frame = stored(t_us, features=features_of(tokens=64, width=64, seed=t_us))
            await window.put(frame, incarnation=FIRST_LIFE)
        assert await times(window) == [2, 3]


async def test_a_frame_larger_than_the_whole_budget_is_refused_and_costs_nobody_anything(
    open_window: OpenWindow,
) -> None:
    async with open_window(settings=Settings(pool_budget_bytes=5_000)) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        await put_all(window, 10, 20)
        with pytest.raises(FrameTooLarge):
            await window.put(stored(30, jpeg=b"x" * 5_000), incarnation=FIRST_LIFE)
        assert await times(window) == [10, 20]


# records


async def test_records_come_by_start_and_only_those_that_touch_the_span(window: Window) -> None:
    track = ObjectTrack(1, 25, 35, False, None, None, None, 0.1, None, ())
    records = [StaticSpan(40, 50), StaticSpan(10, 20), track, Gap(20, 30, GapReason.STALLED)]
    for record in records:
        await window.put_record(GATE, record, incarnation=FIRST_LIFE)
    found = await window.records(GATE, Span(20, 40))
    assert found == (Gap(20, 30, GapReason.STALLED), track)


async def test_a_record_with_the_same_key_replaces(window: Window) -> None:
    await window.put_record(GATE, Gap(10, None, GapReason.STALLED), incarnation=FIRST_LIFE)
    await window.put_record(GATE, Gap(10, 20, GapReason.STALLED), incarnation=FIRST_LIFE)
    assert await window.records(GATE, EVER) == (Gap(10, 20, GapReason.STALLED),)


async def test_an_open_gap_reaches_to_the_end_of_time(window: Window) -> None:
    gap = Gap(10, None, GapReason.UNREACHABLE)
    await window.put_record(GATE, gap, incarnation=FIRST_LIFE)
    assert await window.records(GATE, Span(1_000, 2_000)) == (gap,)
    assert await window.records(GATE, Span(1, 10)) == ()


async def test_a_record_without_length_touches_the_span_that_holds_its_moment(window: Window) -> None:
    scene = SceneChange(20, SceneChangeKind.LIGHT_OFF)
    epoch = EpochStart(20, 1, EpochClock.MEDIA)
    for record in (scene, epoch):
        await window.put_record(GATE, record, incarnation=FIRST_LIFE)
    assert set(await window.records(GATE, Span(20, 21))) == {scene, epoch}
    assert await window.records(GATE, Span(10, 20)) == ()
    assert await window.records(GATE, Span(21, 30)) == ()


async def test_trim_takes_records_that_ended_before_and_leaves_open_gaps(window: Window) -> None:
    kept = (Gap(1, None, GapReason.STALLED), StaticSpan(5, 31), SceneChange(30, SceneChangeKind.LIGHT_ON))
    gone = (StaticSpan(5 + 1, 20), Gap(2, 30, GapReason.ENDED), SceneChange(29, SceneChangeKind.LIGHT_ON))
    for record in kept + gone:
        await window.put_record(GATE, record, incarnation=FIRST_LIFE)
    await window.trim(GATE, before_us=30)
    assert await window.records(GATE, EVER) == kept


async def test_records_outlive_frames_that_leave_for_the_budget(open_window: OpenWindow) -> None:
    size = stored(1).size_bytes
    async with open_window(settings=Settings(pool_budget_bytes=size)) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        await window.put_record(GATE, StaticSpan(5, 15), incarnation=FIRST_LIFE)
        await put_all(window, 10, 20, 30)
        assert await window.records(GATE, EVER) == (StaticSpan(5, 15),)


async def test_more_records_than_allowed_lose_the_oldest_closed_ones(open_window: OpenWindow) -> None:
    tally = TallyMeter()
    async with open_window(settings=Settings(max_records=3), meter=tally) as window:
        await window.open_camera(GATE, FIRST_LIFE)
        gap = Gap(1, None, GapReason.STALLED)
        await window.put_record(GATE, gap, incarnation=FIRST_LIFE)
        for start_us in (10, 20, 30, 40):
            await window.put_record(GATE, StaticSpan(start_us, start_us + 5), incarnation=FIRST_LIFE)
        assert await window.records(GATE, EVER) == (gap, StaticSpan(30, 35), StaticSpan(40, 45))
        assert tally.total(Metric.RECORDS_EVICTED) == 2


# cancellation


async def test_writers_cancelled_in_mid_operation_leave_a_clean_window(window: Window) -> None:
    async def write() -> None:
        for t_us in range(1, 10_000):
            await window.put(stored(t_us), incarnation=FIRST_LIFE)
            await asyncio.sleep(0)

    for _ in range(5):
        task = asyncio.create_task(write())
        for _ in range(7):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    infos = await window.index(GATE, EVER)
    head = await window.head(GATE)
    assert head.frames == len(infos) > 0
    assert head.size_bytes == sum(info.size_bytes for info in infos)
    assert len(await window.fetch([info.ref for info in infos])) == len(infos)
