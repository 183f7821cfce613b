"""What is asked, and at what time: a question's text and "now", checked and cleaned. Pure."""

import re
import unicodedata

from core.spans import Span
from qa.answers import ExplicitWindow, LastWindow, Question
from qa.errors import AskedAtInFuture, EmptyQuestion, InvalidWindow, QuestionTooLong
from qa.settings import AskSettings

MAX_AHEAD_US = 5_000_000
"""How far ahead of the service's clock an asker's clock may be."""

_FARTHEST_US = 253_370_764_800_000_000  # the year 9999, beyond which no calendar here goes


def clean_text(text: str) -> str:
    """Return the text without control characters and lone surrogates, with single spaces, trimmed."""
    kept = (" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return re.sub(r"\s+", " ", "".join(char for char in kept if unicodedata.category(char) != "Cs")).strip()


def accept_text(question: Question, settings: AskSettings) -> str:
    """Return the question's text, cleaned. Raises QuestionTooLong, EmptyQuestion."""
    if len(question.text) > settings.max_text_chars:
        raise QuestionTooLong(len(question.text), settings.max_text_chars)
    text = clean_text(question.text)
    if not any(char.isalnum() or unicodedata.category(char) == "So" for char in text):
        raise EmptyQuestion
    return text


def now_of(question: Question) -> int:
    """Return the stream time that "now" means in this question, µs. Raises AskedAtInFuture."""
    if question.asked_at_us is None:
        return question.received_us
    ahead_us = question.asked_at_us - question.received_us
    if ahead_us > MAX_AHEAD_US:
        raise AskedAtInFuture(ahead_us)
    return question.asked_at_us


def explicit_span(window: ExplicitWindow, *, now_us: int) -> Span:
    """Return an explicit window as a span; what has begun ends at now at the latest.

    Raises:
        InvalidWindow: a length of nothing or less, or a time that no calendar has.
    """
    match window:
        case LastWindow(last_us):
            if last_us <= 0:
                raise InvalidWindow("last_s must be above 0")
            return Span(max(0, now_us - last_us), now_us)
        case Span(start_us, end_us):
            if start_us < 0 or end_us > _FARTHEST_US:
                raise InvalidWindow("it must lie between the years 1970 and 9999")
            return Span(start_us, min(end_us, now_us) if start_us < now_us else end_us)
