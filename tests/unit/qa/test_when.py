"""What questions say about time, phrase by phrase, in both languages."""

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.spans import Span
from qa.answers import Language
from qa.language import language_of
from qa.when import When, read_when
from qa.when_clock import NoteKind
from tests.support.qa_stage import BERLIN, NOW, local_us, spanning, when


def test_the_words_that_say_it_are_given_back_as_they_stand_in_the_question() -> None:
    assert when("What came  between 2 and 3 PM yesterday, please?").text == "between 2 and 3 PM yesterday"


def test_a_long_text_is_read_at_its_start_and_its_end() -> None:
    filler = "and I also wondered about this " * 100
    assert when(f"since 14:00, {filler}").text == "since 14:00"
    assert when(f"{filler} since 14:00?").text == "since 14:00"


def test_a_point_is_told_from_a_range() -> None:
    assert when("at 14:03:05").point
    assert not when("since 14:03:05").point


@pytest.mark.parametrize(
    "text", ["tonight", "this evening", "tomorrow", "today at 18:00", "今晚", "明天", "the next 5 minutes"]
)
def test_what_has_not_begun_is_left_whole_after_now(text: str) -> None:
    found = when(text).span
    assert found is not None
    assert found.start_us >= local_us(NOW)


def test_tonight_after_midnight_is_the_night_that_began_yesterday() -> None:
    assert when("tonight", now="2026-11-30 01:00:00").span == spanning("2026-11-29 18:00", "01:00:00")


# ---------------------------------------------------------------- assumptions, and days when clocks change


def test_a_time_without_its_half_of_the_day_is_the_most_recent_one_and_says_so() -> None:
    found = when("at 2:30")
    assert found.span == spanning("14:30:00", "14:31:00")
    assert found.note is not None
    assert (found.note.kind, found.note.said, found.note.instants_us) == (
        NoteKind.ASSUMED,
        "2:30",
        (local_us("2026-11-30 14:30"),),
    )


def test_a_time_that_is_still_to_come_today_is_yesterdays_and_says_so() -> None:
    found = when("at 16:00")
    assert found.span == spanning("2026-11-29 16:00", "2026-11-29 16:01")
    assert found.note is not None
    assert found.note.kind is NoteKind.ASSUMED


def test_a_time_that_needs_no_assumption_has_no_note() -> None:
    assert when("at 14:03").note is None
    assert when("yesterday at 2:30").note is None


@pytest.mark.parametrize("text", ["yesterday at 2:30", "昨天两点半"])
def test_a_time_that_clocks_skipped_is_said_and_the_shifted_one_offered(text: str) -> None:
    found = when(text, now="2025-03-31 12:00:00")
    start = local_us("2025-03-30 01:30", ZoneInfo("UTC"))  # 03:30 in Berlin
    assert found.span == Span(start, start + 60_000_000)
    assert found.note is not None
    assert (found.note.kind, found.note.said) == (NoteKind.NONEXISTENT, "2025-03-30 02:30")
    assert found.note.instants_us == (start,)


@pytest.mark.parametrize("text", ["yesterday at 2:30", "昨天两点半"])
def test_a_time_that_comes_twice_is_covered_both_times(text: str) -> None:
    found = when(text, now="2025-10-27 12:00:00")
    first, second = (
        local_us("2025-10-26 00:30", ZoneInfo("UTC")),
        local_us("2025-10-26 01:30", ZoneInfo("UTC")),
    )
    assert found.span == Span(first, second + 60_000_000)
    assert found.note is not None
    assert (found.note.kind, found.note.instants_us) == (NoteKind.AMBIGUOUS, (first, second))


def test_a_zone_with_half_an_hour_is_read_as_it_is() -> None:
    found = when("yesterday at 2:30", now="2025-06-02 12:00:00", zone=ZoneInfo("Asia/Kolkata"))
    start = local_us("2025-05-31 21:00", ZoneInfo("UTC"))
    assert found == When(Span(start, start + 60_000_000), "yesterday at 2:30", None, True)


def test_a_change_of_half_an_hour_gives_two_instants_half_an_hour_apart() -> None:
    found = when("yesterday at 1:45", now="2026-04-06 12:00:00", zone=ZoneInfo("Australia/Lord_Howe"))
    first, second = (
        local_us("2026-04-04 14:45", ZoneInfo("UTC")),
        local_us("2026-04-04 15:15", ZoneInfo("UTC")),
    )
    assert found.note is not None
    assert found.note.instants_us == (first, second)
    assert found.span == Span(first, second + 60_000_000)


def test_a_range_that_lies_in_the_skipped_hour_is_still_a_range() -> None:
    found = when("yesterday between 2:30 and 3:00", now="2025-03-31 12:00:00")
    assert found.span == Span(
        local_us("2025-03-30 01:30", ZoneInfo("UTC")), local_us("2025-03-30 02:00", ZoneInfo("UTC"))
    )
    assert found.note is not None


# ---------------------------------------------------------------- properties

_UNITS = st.sampled_from(["s", "sec", "second", "seconds", "min", "minutes", "h", "hours"])
_CLOCKS = st.builds(lambda h, m: f"{h:02d}:{m:02d}", st.integers(0, 23), st.integers(0, 59))
_PAST = st.one_of(
    st.builds(lambda w, n, u: f"{w} {n} {u}", st.sampled_from(["last", "past"]), st.integers(1, 500), _UNITS),
    st.builds(lambda n, u: f"{n} {u} ago", st.integers(1, 500), _UNITS),
    st.builds(
        lambda k, c: f"{k} {c}", st.sampled_from(["since", "after", "at", "around", "before"]), _CLOCKS
    ),
    st.builds(lambda a, b: f"between {a} and {b}", _CLOCKS, _CLOCKS),
    st.builds(lambda d, c: f"{d} at {c}", st.sampled_from(["yesterday", "last night", "on Monday"]), _CLOCKS),
    st.sampled_from(["today", "yesterday", "last night", "now", "just now", "the last half hour"]),
    st.builds(
        lambda n, u: f"最近{n}{u}", st.integers(1, 500), st.sampled_from(["秒", "秒钟", "分钟", "小时"])
    ),
    st.builds(lambda n: f"{n}分钟前", st.integers(1, 500)),
    st.builds(lambda a, b: f"从{a}到{b}", _CLOCKS, _CLOCKS),
    st.builds(lambda d, c: f"{d}{c}", st.sampled_from(["昨天", "昨晚", ""]), _CLOCKS),
    st.sampled_from(["刚才", "刚刚", "现在", "今天", "昨天", "昨晚", "晚上", "早上"]),
)
_ZONES = st.sampled_from(
    ["Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/New_York", "UTC", "Asia/Shanghai"]
)
_NOWS = st.integers(1_600_000_000_000_000, 1_900_000_000_000_000)


@settings(max_examples=300, deadline=None)
@given(text=_PAST, zone=_ZONES, now_us=_NOWS)
def test_every_phrase_about_the_past_starts_before_it_ends_and_ends_by_now(
    text: str, zone: str, now_us: int
) -> None:
    at = ZoneInfo(zone)
    found = read_when(f"what happened {text}?", language=language_of(text), now_us=now_us, zone=at)
    if found.span is None or found.span.start_us >= now_us:
        # only a named day may still lie ahead: "on Monday at 14:03", asked on Monday morning
        assert "Monday" in text or "today" in text
        return
    assert found.span.start_us < found.span.end_us <= now_us
    assert found.text


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60), now_us=_NOWS)
def test_any_text_is_read_without_an_error(text: str, now_us: int) -> None:
    for language in Language:
        read_when(text, language=language, now_us=now_us, zone=BERLIN)


@settings(max_examples=200, deadline=None)
@given(n=st.integers(1, 3600), now_us=_NOWS)
def test_a_length_before_now_is_exactly_that_long(n: int, now_us: int) -> None:
    for text in (f"last {n} seconds", f"过去{n}秒"):
        found = read_when(text, language=language_of(text), now_us=now_us, zone=BERLIN)
        assert found.span == Span(now_us - n * 1_000_000, now_us)
