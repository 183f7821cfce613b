"""A file read in real time."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ingest.pacing import FilePace

MICRO = Fraction(1, 1_000_000)


def test_packets_are_due_by_their_times_to_decode() -> None:
    pace = FilePace(MICRO, frame_us=40_000)
    pts, dts = [0, 400_000, 100_000, 200_000], [-100_000, 0, 100_000, 200_000]
    assert [pace.due_us(p, d) for p, d in zip(pts, dts, strict=True)] == [0, 100_000, 200_000, 300_000]


def test_packets_without_times_are_due_at_the_declared_rate() -> None:
    pace = FilePace(MICRO, frame_us=40_000)
    assert [pace.due_us(None, None) for _ in range(4)] == [0, 40_000, 80_000, 120_000]


def test_a_clock_that_starts_over_goes_on_at_the_pace_before() -> None:
    pace = FilePace(MICRO, frame_us=40_000)
    assert [pace.due_us(t, t) for t in (0, 100_000, 200_000, 0, 100_000)] == [
        0,
        100_000,
        200_000,
        300_000,
        400_000,
    ]


def test_a_hole_is_waited_out_but_not_a_leap() -> None:
    pace = FilePace(MICRO, frame_us=40_000)
    times = (0, 100_000, 5_100_000, 999_000_000, 999_100_000)
    assert [pace.due_us(t, t) for t in times] == [0, 100_000, 5_100_000, 5_200_000, 5_300_000]


@given(st.lists(st.integers(1, 1_000_000), min_size=1, max_size=20), st.integers(-5_000_000, 5_000_000))
def test_rounds_follow_each_other_by_one_frame(steps: list[int], start: int) -> None:
    pace = FilePace(MICRO, frame_us=40_000)
    times = [start]
    for step in steps:
        times.append(times[-1] + step)
    shifted = []
    for _ in range(3):
        for t in times:
            pace.due_us(t, t)
            shifted.append(pace.shift(t))
        pace.next_round()
    length = times[-1] - times[0] + steps[-1]  # by what was last seen; what files declare is often off
    assert shifted == [t + n * length for n in range(3) for t in times]
    assert pace.shift(None) is None
