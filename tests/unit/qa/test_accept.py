"""A question's text and now."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ids import RequestId
from core.spans import Span
from qa.accept import accept_text, clean_text, explicit_span, now_of
from qa.answers import LastWindow, Question
from qa.errors import EmptyQuestion, InvalidWindow, QuestionTooLong
from qa.settings import AskSettings

NOW_US = 1_796_047_470_000_000


def question(text: str = "what?", asked_at_us: int | None = None) -> Question:
    return Question(RequestId("req_1"), text, NOW_US, asked_at_us=asked_at_us)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  what\n happened?\t", "what happened?"),
        ("a\x00b\x1b[31mc", "a b [31mc"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("ď🔥好", "ď🔥好"),
        ("line\u2028break", "line break"),
    ],
)
def test_control_characters_and_loose_surrogates_go(text: str, cleaned: str) -> None:
    assert clean_text(text) == cleaned


@given(text=st.text())
def test_cleaned_text_stays_as_it_is_and_can_be_encoded(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    cleaned.encode()


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "???", "…"])
def test_a_question_without_words_is_refused(text: str) -> None:
    with pytest.raises(EmptyQuestion):
        accept_text(question(text), AskSettings())


def test_a_question_may_be_four_thousand_characters_long() -> None:
    assert len(accept_text(question("x" * 4_000), AskSettings())) == 4_000
    with pytest.raises(QuestionTooLong):
        accept_text(question("x" * 4_001), AskSettings())


def test_now_is_when_the_question_came_unless_it_says_so() -> None:
    assert now_of(question()) == NOW_US
    assert now_of(question(asked_at_us=NOW_US - 60_000_000)) == NOW_US - 60_000_000


def test_an_explicit_window_ends_at_now_at_the_latest() -> None:
    assert explicit_span(LastWindow(5), now_us=NOW_US) == Span(NOW_US - 5, NOW_US)
    assert explicit_span(Span(NOW_US - 5, NOW_US + 5), now_us=NOW_US) == Span(NOW_US - 5, NOW_US)
    assert explicit_span(Span(NOW_US - 5, NOW_US - 3), now_us=NOW_US) == Span(NOW_US - 5, NOW_US - 3)


def test_a_window_that_has_not_begun_is_left_whole() -> None:
    assert explicit_span(Span(NOW_US, NOW_US + 5), now_us=NOW_US) == Span(NOW_US, NOW_US + 5)


def test_a_window_longer_than_time_begins_in_1970() -> None:
    assert explicit_span(LastWindow(10**17), now_us=NOW_US) == Span(0, NOW_US)


@pytest.mark.parametrize("window", [LastWindow(0), LastWindow(-1), Span(-5, 5), Span(0, 10**18)])
def test_windows_outside_all_calendars_are_refused(window: LastWindow | Span) -> None:
    with pytest.raises(InvalidWindow):
        explicit_span(window, now_us=NOW_US)
