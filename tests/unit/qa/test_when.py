"""What questions say about time, phrase by phrase, in both languages."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.spans import Span
from qa.answers import Language
from qa.language import language_of
from qa.when import When, read_when
from qa.when_clock import NoteKind

BERLIN = ZoneInfo("Europe/Berlin")


def us(text: str, zone: ZoneInfo = BERLIN) -> int:
    """Return a local time as µs."""
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) * 1_000_000


NOW = "2026-11-30 15:04:30"  # a Monday


def when(text: str, now: str = NOW, zone: ZoneInfo = BERLIN) -> When:
    return read_when(text, language=language_of(text), now_us=us(now, zone), zone=zone)


def span(start: str, end: str) -> Span:
    """Return a span of the day of NOW, or of other days where the date is written."""
    full = [at if len(at) > 8 else f"2026-11-30 {at}" for at in (start, end)]
    return Span(us(full[0]), us(full[1]))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what happened in the last 30 seconds?", "15:04:00", "15:04:30"),
        ("what happened in the past 30 s", "15:04:00", "15:04:30"),
        ("last 30sec", "15:04:00", "15:04:30"),
        ("Last Minute?", "15:03:30", "15:04:30"),
        ("the last half hour", "14:34:30", "15:04:30"),
        ("who came during the last two hours?", "13:04:30", "15:04:30"),
        ("past 5 min", "14:59:30", "15:04:30"),
        ("last 1.5 h", "13:34:30", "15:04:30"),
        ("last 5m", "14:59:30", "15:04:30"),
        ("the last hour and a half", "13:34:30", "15:04:30"),
        ("the past quarter of an hour", "14:49:30", "15:04:30"),
        ("the last couple of minutes", "15:02:30", "15:04:30"),
        ("what is there now?", "15:04:20", "15:04:30"),
        ("What's going on right now?", "15:04:20", "15:04:30"),
        ("What just now happened?", "15:04:00", "15:04:30"),
        ("since 14:00", "14:00:00", "15:04:30"),
        ("since 2 pm", "14:00:00", "15:04:30"),
        ("has anyone come since 2?", "14:00:00", "15:04:30"),
        ("since this morning", "05:00:00", "15:04:30"),
        ("since 10 minutes ago", "14:54:30", "15:04:30"),
        ("before 14:03", "00:00:00", "14:03:00"),
        ("before noon", "00:00:00", "12:00:00"),
        ("just before 14:03", "14:01:00", "14:03:00"),
        ("the 5 minutes before 14:03", "13:58:00", "14:03:00"),
        ("after 14:03", "14:03:00", "15:04:30"),
        ("after 3 pm yesterday", "2026-11-29 15:00", "00:00:00"),
        ("between 2 and 3 pm", "14:00:00", "15:00:00"),
        ("between 2 and 3?", "14:00:00", "15:00:00"),
        ("between 2 and 3 in the afternoon", "14:00:00", "15:00:00"),
        ("yesterday between 2 and 3 pm", "2026-11-29 14:00", "2026-11-29 15:00"),
        ("between 2 and 3 pm yesterday", "2026-11-29 14:00", "2026-11-29 15:00"),
        ("between 11 and 1 pm", "11:00:00", "13:00:00"),
        ("between 10 and 5 minutes ago", "14:54:30", "14:59:30"),
        ("5 to 10 minutes ago", "14:54:30", "14:59:30"),
        ("from 14:00 to 14:10", "14:00:00", "14:10:00"),
        ("from 14:00 until now", "14:00:00", "15:04:30"),
        ("14:00-14:10", "14:00:00", "14:10:00"),
        ("14:00 – 14:10", "14:00:00", "14:10:00"),
        ("from 23:50 to 00:10", "2026-11-29 23:50", "00:10:00"),
        ("at 14:03:05", "14:03:03", "14:03:08"),
        ("what is that at [14:03:05]?", "14:03:03", "14:03:08"),
        ("at 14:03", "14:03:00", "14:04:00"),
        ("14:03", "14:03:00", "14:04:00"),
        ("at 9 am", "08:58:00", "09:02:00"),
        ("what happened at 9?", "08:58:00", "09:02:00"),
        ("around 14:03", "14:01:00", "14:06:00"),
        ("around noon", "11:45:00", "12:15:00"),
        ("at noon", "11:58:00", "12:02:00"),
        ("5 minutes ago", "14:59:00", "15:00:00"),
        ("30 seconds ago", "15:03:55", "15:04:05"),
        ("half an hour ago", "14:34:00", "14:35:00"),
        ("half past two", "14:30:00", "14:31:00"),
        ("today", "00:00:00", "15:04:30"),
        ("tell me about yesterday", "2026-11-29 00:00", "00:00:00"),
        ("this morning", "05:00:00", "12:00:00"),
        ("this morning at 8", "07:58:00", "08:02:00"),
        ("this afternoon", "12:00:00", "15:04:30"),
        ("yesterday evening", "2026-11-29 18:00", "00:00:00"),
        ("last night", "2026-11-29 18:00", "06:00:00"),
        ("at 2 last night", "01:58:00", "02:02:00"),
        ("at 11 last night", "2026-11-29 22:58", "2026-11-29 23:02"),
        ("on Monday", "00:00:00", "15:04:30"),
        ("last Monday", "2026-11-23 00:00", "2026-11-24 00:00"),
        ("on 3 March at 14:00", "2026-03-03 14:00", "2026-03-03 14:01"),
        ("March 3rd", "2026-03-03 00:00", "2026-03-04 00:00"),
        ("2026-11-29 at 2pm", "2026-11-29 13:58", "2026-11-29 14:02"),
        ("2026-11-29T14:03:05", "2026-11-29 14:03:03", "2026-11-29 14:03:08"),
    ],
)
def test_english_phrases_name_these_spans(text: str, start: str, end: str) -> None:
    assert when(text).span == span(start, end)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("现在有什么？", "15:04:20", "15:04:30"),
        ("刚才发生了什么", "15:04:00", "15:04:30"),
        ("刚刚发生了什么？", "15:04:00", "15:04:30"),
        ("最近30秒", "15:04:00", "15:04:30"),
        ("过去三十秒钟有人吗？", "15:04:00", "15:04:30"),
        ("最近半小时", "14:34:30", "15:04:30"),
        ("过去半个小时", "14:34:30", "15:04:30"),
        ("最近一刻钟", "14:49:30", "15:04:30"),
        ("最近两分钟", "15:02:30", "15:04:30"),
        ("最近一个半小时", "13:34:30", "15:04:30"),
        ("过去的一小时", "14:04:30", "15:04:30"),
        ("30秒内", "15:04:00", "15:04:30"),
        ("上一分钟", "15:03:30", "15:04:30"),
        ("5分钟前", "14:59:00", "15:00:00"),
        ("二十分钟以前", "14:44:00", "14:45:00"),
        ("半小时前", "14:34:00", "14:35:00"),
        ("5到10分钟前", "14:54:30", "14:59:30"),
        ("今天", "00:00:00", "15:04:30"),
        ("昨天", "2026-11-29 00:00", "00:00:00"),
        ("今早", "05:00:00", "12:00:00"),
        ("早上有人来过吗", "05:00:00", "12:00:00"),
        ("上午", "05:00:00", "12:00:00"),
        ("中午", "11:00:00", "13:00:00"),
        ("下午", "12:00:00", "15:04:30"),
        ("晚上", "2026-11-29 18:00", "06:00:00"),
        ("昨晚十一点", "2026-11-29 22:58", "2026-11-29 23:02"),
        ("下午两点到三点", "14:00:00", "15:00:00"),
        ("下午三点到四点", "15:00:00", "15:04:30"),
        ("昨天下午三点到四点之间", "2026-11-29 15:00", "2026-11-29 16:00"),
        ("晚上十一点到一点", "2026-11-29 23:00", "01:00:00"),
        ("两点和三点之间", "14:00:00", "15:00:00"),
        ("两点半", "14:30:00", "14:31:00"),
        ("下午两点一刻", "14:15:00", "14:16:00"),
        ("14:03", "14:03:00", "14:04:00"),
        ("14：03发生了什么", "14:03:00", "14:04:00"),
        ("14点03分05秒", "14:03:03", "14:03:08"),
        ("两点十五分", "14:15:00", "14:16:00"),
        ("三点之后", "15:00:00", "15:04:30"),
        ("下午三点之前", "00:00:00", "15:00:00"),
        ("三点前五分钟", "14:55:00", "15:00:00"),
        ("14:00以来", "14:00:00", "15:04:30"),
        ("从14:00到14:10", "14:00:00", "14:10:00"),
        ("从14:00到现在", "14:00:00", "15:04:30"),
        ("从早上到中午", "05:00:00", "13:00:00"),
        ("自昨天以来", "2026-11-29 00:00", "15:04:30"),
        ("两点左右", "13:45:00", "14:15:00"),
        ("昨天早上八点", "2026-11-29 07:58", "2026-11-29 08:02"),
        ("3月5日下午两点", "2026-03-05 13:58", "2026-03-05 14:02"),
        ("十一月二十九号", "2026-11-29 00:00", "00:00:00"),
        ("上周一", "2026-11-23 00:00", "2026-11-24 00:00"),
        ("last 30 seconds 有人吗", "15:04:00", "15:04:30"),
    ],
)
def test_chinese_phrases_name_these_spans(text: str, start: str, end: str) -> None:
    assert when(text).span == span(start, end)


@pytest.mark.parametrize(
    "text",
    [
        "may I see the march?",
        "may 3 people enter?",
        "the second car",
        "one by one",
        "what is the second thing",
        "what did the first person do second?",
        "who lives at number 12?",
        "at 24 Baker Street",
        "who is at 24?",
        "24 bottles",
        "how many of the 24 bottles are left?",
        "from 2 to 3 people",
        "between 3 and 4 people",
        "rate it from 1 to 10",
        "the last 3 cars",
        "look at 2 cars",
        "before the car came",
        "after the dog left",
        "the second half",
        "16:9",
        "rtsp://10.0.0.5:554/x",
        "every now and then",
        "is this the 7-11 store?",
        "call 555-1234",
        "at 25:00",
        "after 31 June",
        "2024",
        "",
        "快一点",
        "有一点奇怪吗？",
        "一点也不像",
        "有三点建议",
        "第二辆车",
        "有24瓶水吗？",
        "门牌号是多少？",
        "几点了",
        "十二个人",
        "三月花开了吗",
        "前面那辆车",
        "他十分内向吗",
        "这里有几个人？",
    ],
)
def test_these_words_name_no_time(text: str) -> None:
    assert when(text) == When()


def test_the_words_that_say_it_are_given_back_as_they_stand_in_the_question() -> None:
    assert when("What came  between 2 and 3 PM yesterday, please?").text == "between 2 and 3 PM yesterday"


def test_a_point_is_told_from_a_range() -> None:
    assert when("at 14:03:05").point
    assert not when("since 14:03:05").point


@pytest.mark.parametrize(
    "text", ["tonight", "this evening", "tomorrow", "today at 18:00", "今晚", "明天", "the next 5 minutes"]
)
def test_what_has_not_begun_is_left_whole_after_now(text: str) -> None:
    found = when(text).span
    assert found is not None
    assert found.start_us >= us(NOW)


def test_tonight_after_midnight_is_the_night_that_began_yesterday() -> None:
    assert when("tonight", now="2026-11-30 01:00:00").span == span("2026-11-29 18:00", "01:00:00")


# ---------------------------------------------------------------- assumptions, and days when clocks change


def test_a_time_without_its_half_of_the_day_is_the_most_recent_one_and_says_so() -> None:
    found = when("at 2:30")
    assert found.span == span("14:30:00", "14:31:00")
    assert found.note is not None
    assert (found.note.kind, found.note.said, found.note.instants_us) == (
        NoteKind.ASSUMED,
        "2:30",
        (us("2026-11-30 14:30"),),
    )


def test_a_time_that_is_still_to_come_today_is_yesterdays_and_says_so() -> None:
    found = when("at 16:00")
    assert found.span == span("2026-11-29 16:00", "2026-11-29 16:01")
    assert found.note is not None
    assert found.note.kind is NoteKind.ASSUMED


def test_a_time_that_needs_no_assumption_has_no_note() -> None:
    assert when("at 14:03").note is None
    assert when("yesterday at 2:30").note is None


@pytest.mark.parametrize("text", ["yesterday at 2:30", "昨天两点半"])
def test_a_time_that_clocks_skipped_is_said_and_the_shifted_one_offered(text: str) -> None:
    found = when(text, now="2025-03-31 12:00:00")
    start = us("2025-03-30 01:30", ZoneInfo("UTC"))  # 03:30 in Berlin
    assert found.span == Span(start, start + 60_000_000)
    assert found.note is not None
    assert (found.note.kind, found.note.said) == (NoteKind.NONEXISTENT, "2025-03-30 02:30")
    assert found.note.instants_us == (start,)


@pytest.mark.parametrize("text", ["yesterday at 2:30", "昨天两点半"])
def test_a_time_that_comes_twice_is_covered_both_times(text: str) -> None:
    found = when(text, now="2025-10-27 12:00:00")
    first, second = us("2025-10-26 00:30", ZoneInfo("UTC")), us("2025-10-26 01:30", ZoneInfo("UTC"))
    assert found.span == Span(first, second + 60_000_000)
    assert found.note is not None
    assert (found.note.kind, found.note.instants_us) == (NoteKind.AMBIGUOUS, (first, second))


def test_a_zone_with_half_an_hour_is_read_as_it_is() -> None:
    found = when("yesterday at 2:30", now="2025-06-02 12:00:00", zone=ZoneInfo("Asia/Kolkata"))
    start = us("2025-05-31 21:00", ZoneInfo("UTC"))
    assert found == When(Span(start, start + 60_000_000), "yesterday at 2:30", None, True)


def test_a_change_of_half_an_hour_gives_two_instants_half_an_hour_apart() -> None:
    found = when("yesterday at 1:45", now="2026-04-06 12:00:00", zone=ZoneInfo("Australia/Lord_Howe"))
    first, second = us("2026-04-04 14:45", ZoneInfo("UTC")), us("2026-04-04 15:15", ZoneInfo("UTC"))
    assert found.note is not None
    assert found.note.instants_us == (first, second)
    assert found.span == Span(first, second + 60_000_000)


def test_a_range_that_lies_in_the_skipped_hour_is_still_a_range() -> None:
    found = when("yesterday between 2:30 and 3:00", now="2025-03-31 12:00:00")
    assert found.span == Span(
        us("2025-03-30 01:30", ZoneInfo("UTC")), us("2025-03-30 02:00", ZoneInfo("UTC"))
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
