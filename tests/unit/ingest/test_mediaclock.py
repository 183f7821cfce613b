"""The clock inside a stream."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ingest.mediaclock import MediaClock

NINETY_KHZ = Fraction(1, 90_000)


def read_all(clock: MediaClock, ticks: list[int]) -> list[int]:
    times = [clock.read(at, at) for at in ticks]
    return [time.pts_us for time in times if time is not None]


@given(
    start=st.integers(-(1 << 34), 1 << 34),
    steps=st.lists(st.integers(1, 90_000), max_size=40),
    base=st.sampled_from([NINETY_KHZ, Fraction(1, 12_800), Fraction(1, 30_000), Fraction(1001, 30_000)]),
)
def test_ticks_become_microseconds_exactly_rounded_down(start: int, steps: list[int], base: Fraction) -> None:
    ticks = [start]
    for step in steps:
        ticks.append(ticks[-1] + step)
    small = [at for at in ticks if at - ticks[0] < (1 << 31)]
    clock = MediaClock(base)
    first = int(Fraction(start) * base * 1_000_000 // 1)
    times = read_all(clock, small[:1])
    assert times == [first]


@given(
    bits=st.sampled_from([32, 33]),
    before=st.integers(1, 60),
    after=st.integers(1, 60),
    step=st.integers(900, 90_000),
)
def test_a_wrap_is_undone_so_that_steps_stay_even(bits: int, before: int, after: int, step: int) -> None:
    wrap = 1 << bits
    ticks = [(wrap - before * step + n * step) % wrap for n in range(before + after)]
    clock = MediaClock(NINETY_KHZ)
    times = [clock.read(at, at) for at in ticks]
    assert not any(time is None or time.went_back for time in times)
    us = [time.pts_us for time in times if time is not None]
    exact = step * 1_000_000 / 90_000
    assert all(abs(b - a - exact) <= 1 for a, b in itertools.pairwise(us))


def test_negative_and_zero_times_are_times() -> None:
    clock = MediaClock(NINETY_KHZ)
    assert read_all(clock, [-9000, 0, 9000]) == [-100_000, 0, 100_000]


def test_b_frames_step_back_without_being_a_new_start() -> None:
    clock = MediaClock(NINETY_KHZ)
    pts, dts = [0, 36_000, 9000, 18_000, 27_000], [-9000, 0, 9000, 18_000, 27_000]
    times = [clock.read(p, d) for p, d in zip(pts, dts, strict=True)]
    assert [time.went_back for time in times if time] == [False] * 5


def test_b_frames_without_decode_times_are_no_new_start_either() -> None:
    clock = MediaClock(NINETY_KHZ)
    times = [clock.read(p, None) for p in (0, 36_000, 9000, 18_000, 27_000)]
    assert [time.went_back for time in times if time] == [False] * 5


def test_a_clock_that_starts_over_is_noticed() -> None:
    clock = MediaClock(NINETY_KHZ)
    read_all(clock, [0, 9000, 18_000, 27_000])
    over = clock.read(0, 0)
    assert over is not None
    assert over.went_back
    going_on = clock.read(9000, 9000)
    assert going_on is not None
    assert (going_on.went_back, going_on.step_us) == (False, 100_000)


def test_a_few_milliseconds_back_are_jitter() -> None:
    clock = MediaClock(NINETY_KHZ)
    read_all(clock, [0, 9000])
    jitter = clock.read(8_500, 8_500)
    assert jitter is not None
    assert not jitter.went_back


def test_a_packet_without_a_time_has_none() -> None:
    assert MediaClock(NINETY_KHZ).read(None, 5) is None
