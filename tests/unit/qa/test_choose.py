"""Which frames a question looks at, by example and by property."""

from hypothesis import given
from hypothesis import strategies as st

from core.frames import KeepReason
from core.ids import CameraId, make_frame_ref
from featcache.window import FrameInfo, Tier
from qa.choose import CELL_US, choose_recent, choose_span, max_frames_of, recent_count

SECOND_US = 1_000_000
NOW_US = 1_700_000_000 * SECOND_US


def info(t_us: int, seq: int, motion: float = 0.1) -> FrameInfo:
    ref = make_frame_ref(CameraId("gate"), t_us)
    return FrameInfo(ref, t_us, seq, KeepReason.MOTION, motion, False, 32, 1000, Tier.MEMORY)


def every(step_us: int, count: int, *, first_seq: int = 0) -> list[FrameInfo]:
    """Return ``count`` frames, the last one step before now."""
    start = NOW_US - count * step_us
    return [info(start + at * step_us, first_seq + at) for at in range(count)]


@st.composite
def spans_of_frames(draw: st.DrawFn) -> list[FrameInfo]:
    steps = draw(st.lists(st.integers(1, 3_000_000), min_size=1, max_size=300))
    motions = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=len(steps), max_size=len(steps)))
    frames, t_us = [], NOW_US
    for seq, (step, motion) in enumerate(zip(steps, motions, strict=True)):
        t_us += step
        frames.append(info(t_us, seq, motion))
    return frames


# ---------------------------------------------------------------- no span


def test_without_a_span_the_newest_eight_are_chosen_from_an_aligned_start() -> None:
    chosen = choose_recent(every(SECOND_US, 15, first_seq=85), now_us=NOW_US, max_frames=64)
    assert [frame.seq for frame in chosen] == list(range(88, 100))


def test_questions_one_after_the_other_begin_with_the_same_frame() -> None:
    starts = set()
    for newest_seq in range(103, 111):
        frames = every(SECOND_US, 15, first_seq=newest_seq - 14)
        starts.add(choose_recent(frames, now_us=NOW_US, max_frames=64)[0].seq)
    assert starts == {96}


def test_a_camera_silent_for_half_a_minute_gives_no_recent_frames() -> None:
    frames = [info(NOW_US - 31 * SECOND_US, 7)]
    assert choose_recent(frames, now_us=NOW_US, max_frames=64) == ()


def test_frames_at_or_after_now_are_not_chosen() -> None:
    frames = [info(NOW_US - 1, 0), info(NOW_US, 1)]
    assert [frame.seq for frame in choose_recent(frames, now_us=NOW_US, max_frames=64)] == [0]


def test_where_the_aligned_frame_has_aged_out_the_oldest_held_begins() -> None:
    chosen = choose_recent(every(SECOND_US, 9, first_seq=93), now_us=NOW_US, max_frames=64)
    assert [frame.seq for frame in chosen] == list(range(93, 102)) or chosen[0].seq == 93


@given(first=st.integers(0, 1000), step=st.integers(100_000, 2_000_000), budget=st.integers(1, 64))
def test_the_recent_choice_is_contiguous_aligned_and_fits(first: int, step: int, budget: int) -> None:
    frames = every(step, recent_count(budget), first_seq=first)
    chosen = choose_recent(frames, now_us=NOW_US, max_frames=budget)
    assert list(chosen) == frames[len(frames) - len(chosen) :]
    assert 1 <= len(chosen) <= budget
    if budget >= 15:
        assert 8 <= len(chosen) <= 15
        assert chosen[0].seq % 8 == 0


# ---------------------------------------------------------------- a span


def test_within_budget_every_frame_of_a_span_is_chosen() -> None:
    frames = every(250_000, 64)
    assert choose_span(frames, max_frames=64) == tuple(frames)


def test_over_budget_the_sample_of_greatest_motion_stands_for_its_cell() -> None:
    start = NOW_US - NOW_US % (2 * CELL_US)
    frames = [
        info(start, 0, 0.1),
        info(start + 100_000, 1, 0.2),
        info(start + 300_000, 2, 0.9),  # same half second at level 1
        info(start + 500_000, 3, 0.3),
        info(start + 700_000, 4, 0.3),  # as much motion as the one before: the earlier one stands
        info(start + 1_000_000, 5, 0.0),
    ]
    assert [frame.seq for frame in choose_span(frames, max_frames=4)] == [0, 2, 3, 5]


def test_ten_minutes_at_ten_frames_a_second_fit_a_real_models_budget() -> None:
    frames = every(100_000, 6000)
    chosen = choose_span(frames, max_frames=max_frames_of(8_192, 196))
    assert 10 <= len(chosen) <= 41
    assert (chosen[0], chosen[-1]) == (frames[0], frames[-1])


def test_a_budget_of_one_or_two_keeps_the_last_or_both_ends() -> None:
    frames = every(SECOND_US, 5)
    assert choose_span(frames, max_frames=1) == (frames[-1],)
    assert choose_span(frames, max_frames=2) == (frames[0], frames[-1])


def test_a_budget_pays_for_one_frame_at_least() -> None:
    assert max_frames_of(2_048, 32) == 64
    assert max_frames_of(8_192, 196) == 41
    assert max_frames_of(10, 196) == 1


@given(frames=spans_of_frames(), budget=st.integers(2, 80))
def test_a_choice_fits_keeps_both_ends_and_the_order(frames: list[FrameInfo], budget: int) -> None:
    chosen = choose_span(frames, max_frames=budget)
    assert len(chosen) <= budget
    assert (chosen[0], chosen[-1]) == (frames[0], frames[-1])
    times = [frame.t_us for frame in chosen]
    assert times == sorted(set(times))
    assert set(chosen) <= set(frames)


@given(frames=spans_of_frames(), budget=st.integers(1, 80))
def test_a_choice_is_the_same_every_time_and_chosen_from_again(frames: list[FrameInfo], budget: int) -> None:
    chosen = choose_span(frames, max_frames=budget)
    assert choose_span(list(frames), max_frames=budget) == chosen
    assert choose_span(chosen, max_frames=budget) == chosen


@given(frames=spans_of_frames(), budget=st.integers(3, 80))
def test_no_smaller_level_would_have_fitted(frames: list[FrameInfo], budget: int) -> None:
    chosen = choose_span(frames, max_frames=budget)
    if len(chosen) == len(frames):
        return

    def at_level(level: int) -> set[FrameInfo]:
        cells: dict[int, FrameInfo] = {}
        for frame in frames:
            best = cells.setdefault(frame.t_us // (CELL_US << level), frame)
            if frame.motion > best.motion:
                cells[frame.t_us // (CELL_US << level)] = frame
        return {frames[0], frames[-1], *cells.values()}

    smallest = next(level for level in range(64) if len(at_level(level)) <= budget)
    assert set(chosen) == at_level(smallest)
