"""Follow-ups that point at the turn before."""

import pytest

from core.spans import Span
from qa.follow import LEAST_US, follow_span

LAST = Span(1_000_000_000, 1_200_000_000)
NOW_US = 2_000_000_000


@pytest.mark.parametrize(
    "text", ["and before that?", "what was there beforehand?", "那之前呢？", "在此之前有人吗", "之前呢？"]
)
def test_before_that_is_as_long_and_ends_where_the_last_span_began(text: str) -> None:
    assert follow_span(text, LAST, now_us=NOW_US) == Span(800_000_000, 1_000_000_000)


@pytest.mark.parametrize(
    "text", ["And after that?", "what came afterwards?", "and then?", "那之后呢？", "后来呢？", "然后呢"]
)
def test_after_that_begins_where_the_last_span_ended(text: str) -> None:
    assert follow_span(text, LAST, now_us=NOW_US) == Span(1_200_000_000, 1_400_000_000)


@pytest.mark.parametrize("text", ["has it moved since then?", "那以来有人吗"])
def test_since_then_reaches_to_now(text: str) -> None:
    assert follow_span(text, LAST, now_us=NOW_US) == Span(1_200_000_000, NOW_US)


def test_a_short_span_reaches_at_least_a_minute() -> None:
    last = Span(1_000_000_000, 1_005_000_000)
    assert follow_span("before that?", last, now_us=NOW_US).duration_us == LEAST_US


def test_after_that_ends_at_now() -> None:
    assert follow_span("after that?", LAST, now_us=1_210_000_000) == Span(1_200_000_000, 1_210_000_000)


def test_after_a_span_that_ended_now_lies_the_future() -> None:
    assert follow_span("after that?", LAST, now_us=1_200_000_000).start_us == 1_200_000_000


@pytest.mark.parametrize(
    "text",
    ["what colour was it?", "before the car?", "after the dog left?", "什么颜色？", "and the other one?"],
)
def test_other_follow_ups_are_about_the_same_span(text: str) -> None:
    assert follow_span(text, LAST, now_us=NOW_US) == LAST
