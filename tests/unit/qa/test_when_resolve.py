"""From a range in words to a span."""

from datetime import date
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from core.spans import Span
from qa.when_clock import NoteKind
from qa.when_range import (
    After,
    Around,
    At,
    Before,
    Between,
    Clock,
    Day,
    Last,
    Moment,
    Next,
    Part,
    Precision,
    Range,
    Since,
    Weekday,
)
from qa.when_resolve import Resolved, resolve
from tests.support.qa_stage import BERLIN, NOW, local_us, spanning


def resolved(said: Range, now: str = NOW) -> Resolved:
    found = resolve(said, now_us=local_us(now), zone=BERLIN)
    assert found is not None
    return found


def test_the_morning_is_todays_once_it_has_begun_and_yesterdays_before() -> None:
    morning = At(Moment(part=Part.MORNING))
    assert resolved(morning).span == spanning("05:00:00", "12:00:00")
    assert resolved(morning, "2026-11-30 04:00:00").span == spanning("2026-11-29 05:00", "2026-11-29 12:00")


def test_an_hour_fits_the_part_of_the_day_it_was_said_with() -> None:
    eight = Clock(8, precision=Precision.HOUR, either_half=True)
    assert resolved(At(Moment(eight, Day(-1), Part.MORNING))).span == spanning(
        "2026-11-29 07:58", "2026-11-29 08:02"
    )
    assert resolved(At(Moment(eight, Day(-1), Part.EVENING))).span == spanning(
        "2026-11-29 19:58", "2026-11-29 20:02"
    )


def test_a_night_reaches_into_the_next_morning() -> None:
    two = Clock(2, precision=Precision.HOUR, either_half=True)
    assert resolved(At(Moment(two, Day(-1), Part.NIGHT))).span == spanning("01:58:00", "02:02:00")


def test_a_range_over_midnight_ends_on_the_next_day() -> None:
    found = resolved(Between(Moment(Clock(23, 50)), Moment(Clock(0, 10))))
    assert found.span == spanning("2026-11-29 23:50", "00:10:00")


def test_of_two_readings_of_a_range_the_shorter_counts() -> None:
    start, end = Moment(Clock(11, either_half=True)), Moment(Clock(13))
    assert resolved(Between(start, end)).span == spanning("11:00:00", "13:00:00")


def test_before_and_after_a_day_reach_to_its_neighbours() -> None:
    assert resolved(Before(Moment(day=Day(0)))).span == spanning("2026-11-29 00:00", "00:00:00")
    assert resolved(After(Moment(day=Day(-1)))).span == spanning("00:00:00", NOW)


def test_before_and_after_may_be_bounded() -> None:
    minute = 60_000_000
    assert resolved(Before(Moment(Clock(14, 3)), minute)).span == spanning("14:02:00", "14:03:00")
    assert resolved(After(Moment(Clock(14, 3)), minute)).span == spanning("14:03:00", "14:04:00")


def test_a_weekday_is_the_most_recent_one() -> None:
    assert resolved(At(Moment(day=Weekday(6)))).span == spanning("2026-11-29 00:00", "00:00:00")
    assert resolved(At(Moment(day=Weekday(2), part=None))).span == spanning(
        "2026-11-25 00:00", "2026-11-26 00:00"
    )
    assert resolved(At(Moment(day=Weekday(6, True)))).span == spanning("2026-11-29 00:00", "00:00:00")


def test_a_date_with_a_time_is_read_by_the_24_hour_clock() -> None:
    found = resolved(At(Moment(Clock(2, 30, either_half=True), date(2026, 3, 3))))
    assert found == Resolved(spanning("2026-03-03 02:30", "2026-03-03 02:31"), None, True)


def test_what_has_not_begun_is_left_whole() -> None:
    assert resolved(Next(60_000_000)).span == Span(local_us(NOW), local_us(NOW) + 60_000_000)
    assert resolved(At(Moment(Clock(18), Day(0)))).span.start_us > local_us(NOW)
    assert resolved(Since(Moment(Clock(18), Day(0)))).span.start_us > local_us(NOW)


def test_no_clock_shows_twenty_five() -> None:
    assert resolve(At(Moment(Clock(25))), now_us=local_us(NOW), zone=BERLIN) is None
    assert resolve(Between(Moment(Clock(25)), Moment(Clock(1))), now_us=local_us(NOW), zone=BERLIN) is None


def test_an_assumption_is_noted_only_where_one_was_made() -> None:
    half = resolved(At(Moment(Clock(2, 30, either_half=True))))
    assert half.note is not None
    assert (half.note.kind, half.note.said) == (NoteKind.ASSUMED, "2:30")
    assert resolved(At(Moment(Clock(9, 30, either_half=True)))).note is None
    assert resolved(Around(Moment(Clock(14, 30)))).note is None


_CLOCKS = st.builds(
    Clock,
    st.integers(0, 23),
    st.integers(0, 59),
    st.integers(0, 59),
    precision=st.sampled_from(Precision),
    either_half=st.booleans(),
)
_MOMENTS = st.builds(
    Moment,
    st.one_of(st.none(), _CLOCKS),
    st.one_of(
        st.builds(Day, st.integers(-3, 1)),
        st.builds(Weekday, st.integers(0, 6), st.booleans()),
        st.dates(date(1990, 1, 1), date(2030, 1, 1)),
    ),
    st.one_of(st.none(), st.sampled_from(Part)),
) | st.builds(lambda us: Moment(ago_us=us, unit_us=1_000_000), st.integers(0, 10**12))
_RANGES = st.one_of(
    st.builds(Last, st.integers(1, 10**12)),
    *(st.builds(kind, _MOMENTS) for kind in (At, Around, Since, Before, After)),
    st.builds(Between, _MOMENTS, _MOMENTS),
)


@settings(max_examples=500, deadline=None)
@given(
    said=_RANGES,
    now_us=st.integers(1_500_000_000_000_000, 1_900_000_000_000_000),
    zone=st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu"]),
)
def test_every_span_that_has_begun_ends_by_now(said: Range, now_us: int, zone: str) -> None:
    found = resolve(said, now_us=now_us, zone=ZoneInfo(zone))
    if found is not None and found.span.start_us < now_us:
        assert found.span.end_us <= now_us
