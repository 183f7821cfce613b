"""Spans in which nothing moved."""

from hypothesis import given
from hypothesis import strategies as st

from core.records import StaticSpan
from sampler.static import StillWatch


def watch() -> StillWatch:
    return StillWatch(after_us=2_000_000, every_us=2_000_000)


def test_a_span_opens_after_two_seconds_and_grows_at_each_heartbeat() -> None:
    under_test = watch()
    found = [under_test.push(n * 100_000, moving=False) for n in range(61)]
    assert [span for span in found if span] == [
        StaticSpan(0, 2_000_000),
        StaticSpan(0, 4_000_000),
        StaticSpan(0, 6_000_000),
    ]


def test_unchanged_since_is_the_time_of_the_last_motion() -> None:
    under_test = watch()
    for t_us in (0, 100_000, 200_000):
        under_test.push(t_us, moving=True)
    assert under_test.push(2_300_000, moving=False) == StaticSpan(200_000, 2_300_000)


def test_motion_ends_a_span_at_the_last_still_frame() -> None:
    under_test = watch()
    for t_us in range(0, 2_900_000, 100_000):
        under_test.push(t_us, moving=False)
    assert under_test.push(2_900_000, moving=True) == StaticSpan(0, 2_800_000)
    assert under_test.since_us == 2_900_000


def test_a_short_still_time_is_no_span() -> None:
    under_test = watch()
    found = [under_test.push(n * 100_000, moving=n % 15 == 0) for n in range(100)]
    assert not any(found)
    assert under_test.finish() is None


def test_finish_gives_the_full_length_and_starts_anew() -> None:
    under_test = watch()
    for t_us in range(0, 3_100_000, 100_000):
        under_test.push(t_us, moving=False)
    assert under_test.finish() == StaticSpan(0, 3_000_000)
    assert under_test.finish() is None
    assert under_test.since_us is None


@given(st.lists(st.tuples(st.integers(10_000, 900_000), st.booleans()), min_size=2, max_size=150))
def test_no_motion_lies_inside_a_span_and_no_long_quiet_time_is_missed(rows: list[tuple[int, bool]]) -> None:
    under_test, t_us, moved, stored = watch(), 0, [], {}
    for step_us, moving in rows:
        t_us += step_us
        if moving:
            moved.append(t_us)
        span = under_test.push(t_us, moving=moving)
        if span:
            stored[span.key] = span
    last = under_test.finish()
    if last:
        stored[last.key] = last
    for span in stored.values():
        assert not any(span.start_us < t <= span.end_us for t in moved)
        assert span.end_us - span.start_us >= 2_000_000
