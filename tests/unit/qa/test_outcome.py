"""Whether a span can be answered from."""

from core.ids import Incarnation
from core.records import GapReason
from core.spans import Span
from featcache.window import Head
from qa.answers import Coverage, CoverageGap, Outcome
from qa.outcome import SILENT_US, outcome_of

NOW_US = 1_000_000_000
ASKED = Span(NOW_US - 60_000_000, NOW_US - 30_000_000)


def head(oldest_us: int | None, newest_us: int | None, evicted_us: int | None = None) -> Head:
    return Head(Incarnation("life1"), oldest_us, newest_us, evicted_us, 1, 1)


def seen(
    *,
    asked: Span = ASKED,
    covered: tuple[Span, ...] = (),
    gaps: tuple[Span, ...] = (),
    evicted_us: int | None = None,
) -> Coverage:
    away = tuple(CoverageGap(gap, GapReason.UNREACHABLE) for gap in gaps)
    return Coverage(asked, covered, (), away, evicted_us, 1.0)


def outcome(coverage: Coverage, held: Head, frames: int = 0) -> Outcome:
    return outcome_of(coverage, head=held, frames=frames, now_us=NOW_US)


def test_frames_make_an_answer() -> None:
    assert outcome(seen(), head(0, NOW_US), frames=1) is Outcome.OK


def test_a_span_from_now_on_is_the_future_even_if_frames_were_held() -> None:
    assert outcome(seen(asked=Span(NOW_US, NOW_US + 1)), head(0, NOW_US), frames=1) is Outcome.FUTURE


def test_a_covered_span_without_a_frame_of_its_own_is_answered() -> None:
    assert outcome(seen(covered=(ASKED,)), head(0, NOW_US)) is Outcome.OK


def test_time_since_the_newest_frame_of_a_silent_camera_was_not_seen() -> None:
    newest_us = ASKED.start_us - 1
    assert outcome(seen(covered=(ASKED,)), head(0, newest_us)) is Outcome.EMPTY


def test_a_camera_that_was_heard_a_moment_ago_is_not_silent() -> None:
    asked = Span(NOW_US - 500_000, NOW_US)
    held = head(0, NOW_US - SILENT_US)
    assert outcome(seen(asked=asked, covered=(asked,)), held) is Outcome.OK


def test_a_span_before_the_eviction_mark_is_too_old() -> None:
    evicted_us = ASKED.end_us + 1
    assert outcome(seen(evicted_us=evicted_us), head(evicted_us, NOW_US, evicted_us)) is Outcome.TOO_OLD


def test_a_span_partly_evicted_and_otherwise_a_gap_is_too_old() -> None:
    evicted_us = ASKED.start_us + 10
    gap = Span(evicted_us, ASKED.end_us)
    assert (
        outcome(seen(gaps=(gap,), evicted_us=evicted_us), head(evicted_us, NOW_US, evicted_us))
        is Outcome.TOO_OLD
    )


def test_a_span_that_is_all_gap_is_a_gap() -> None:
    assert outcome(seen(gaps=(ASKED,)), head(0, NOW_US)) is Outcome.GAP_ONLY


def test_a_camera_that_never_delivered_and_was_away_is_a_gap() -> None:
    gap = Span(ASKED.start_us + 10, ASKED.end_us)
    assert outcome(seen(gaps=(gap,)), head(None, None)) is Outcome.GAP_ONLY


def test_a_camera_that_never_delivered_is_empty() -> None:
    assert outcome(seen(), head(None, None)) is Outcome.EMPTY


def test_a_span_before_the_first_frame_ever_is_empty() -> None:
    assert outcome(seen(), head(ASKED.end_us + 1, NOW_US)) is Outcome.EMPTY
