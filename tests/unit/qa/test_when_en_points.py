"""English end points."""

from datetime import date

import pytest

from qa.when_en_points import length_us, read_moment
from qa.when_range import HOUR_US, MINUTE_US, SECOND_US, Clock, Day, Moment, Part, Precision, Weekday

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "us", "unit"),
    [
        ("30 seconds", 30 * SECOND_US, SECOND_US),
        ("1.5 h", 90 * MINUTE_US, HOUR_US),
        ("5m", 5 * MINUTE_US, MINUTE_US),
        ("an hour and a half", 90 * MINUTE_US, HOUR_US),
        ("half an hour", 30 * MINUTE_US, MINUTE_US),
        ("quarter of an hour", 15 * MINUTE_US, MINUTE_US),
        ("a couple of minutes", 2 * MINUTE_US, MINUTE_US),
        ("forty-five seconds", 45 * SECOND_US, SECOND_US),
        ("a while", 0, 0),
    ],
)
def test_lengths_have_an_amount_and_a_unit(text: str, us: int, unit: int) -> None:
    assert length_us(text) == (us, unit)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("14:03:05.2", Moment(Clock(14, 3, 5, 200_000, Precision.SECOND))),
        ("3 pm", Moment(Clock(15, precision=Precision.HOUR))),
        ("12 am", Moment(Clock(0, precision=Precision.HOUR))),
        ("12 p.m.", Moment(Clock(12, precision=Precision.HOUR))),
        ("2:30", Moment(Clock(2, 30, either_half=True))),
        ("02:30", Moment(Clock(2, 30))),
        ("24:00", Moment(Clock(0, 0))),
        ("quarter to three", Moment(Clock(2, 45, either_half=True))),
        ("yesterday at 2:30", Moment(Clock(2, 30, either_half=True), Day(-1))),
        (
            "8 in the morning",
            Moment(Clock(8, precision=Precision.HOUR, either_half=True), None, Part.MORNING),
        ),
        ("last night", Moment(None, Day(-1), Part.NIGHT)),
        ("tonight", Moment(None, Day(0), Part.NIGHT)),
        ("last monday", Moment(None, Weekday(0, True))),
        ("march 3rd at noon", Moment(Clock(12, precision=Precision.HOUR), date(2026, 3, 3))),
        ("5 minutes ago", Moment(ago_us=5 * MINUTE_US, unit_us=MINUTE_US)),
        ("now", Moment(ago_us=0, unit_us=SECOND_US)),
        ("1970-01-01T00:00:01.5Z", Moment(t_us=1_500_000)),
        ("2026-13-01T00:00:00Z", None),
        ("25:00", None),
        ("31st of june", None),
        ("somewhere", None),
    ],
)
def test_end_points_are_read(text: str, moment: Moment | None) -> None:
    assert read_moment(text, TODAY) == moment
