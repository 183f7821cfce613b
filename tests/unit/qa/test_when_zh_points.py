"""Chinese end points."""

from datetime import date

import pytest

from qa.when_range import HOUR_US, MINUTE_US, SECOND_US, Clock, Day, Moment, Part, Precision, Weekday
from qa.when_zh_points import length_us, number, read_moment

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("十", 10),
        ("十二", 12),
        ("三十", 30),
        ("四十五", 45),
        ("一百二十", 120),
        ("两", 2),
        ("三零", 30),
        ("90", 90),
    ],
)
def test_numerals_are_read(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    ("text", "us", "unit"),
    [
        ("三十秒", 30 * SECOND_US, SECOND_US),
        ("两分钟", 2 * MINUTE_US, MINUTE_US),
        ("半小时", 30 * MINUTE_US, MINUTE_US),
        ("半个小时", 30 * MINUTE_US, MINUTE_US),
        ("半分钟", 30 * SECOND_US, SECOND_US),
        ("一刻钟", 15 * MINUTE_US, MINUTE_US),
        ("一个半小时", 90 * MINUTE_US, HOUR_US),
        ("3个小时", 3 * HOUR_US, HOUR_US),
        ("一会儿", 0, 0),
    ],
)
def test_lengths_have_an_amount_and_a_unit(text: str, us: int, unit: int) -> None:
    assert length_us(text) == (us, unit)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("三点半", Moment(Clock(3, 30, either_half=True))),
        ("三点一刻", Moment(Clock(3, 15, either_half=True))),
        ("十五点", Moment(Clock(15, precision=Precision.HOUR))),
        ("14点03分05秒", Moment(Clock(14, 3, 5, precision=Precision.SECOND))),
        ("三点零五分", Moment(Clock(3, 5, either_half=True))),
        ("下午三点", Moment(Clock(3, precision=Precision.HOUR, either_half=True), None, Part.AFTERNOON)),
        ("昨天早上八点", Moment(Clock(8, precision=Precision.HOUR, either_half=True), Day(-1), Part.MORNING)),
        ("昨晚", Moment(None, Day(-1), Part.NIGHT)),
        ("上周一", Moment(None, Weekday(0, True))),
        ("星期天下午", Moment(None, Weekday(6), Part.AFTERNOON)),
        ("3月5日", Moment(None, date(2026, 3, 5))),
        ("十一月二十九号", Moment(None, date(2026, 11, 29))),
        ("五分钟前", Moment(ago_us=5 * MINUTE_US, unit_us=MINUTE_US)),
        ("现在", Moment(ago_us=0, unit_us=SECOND_US)),
        ("二月三十号", None),
        ("这里", None),
    ],
)
def test_end_points_are_read(text: str, moment: Moment | None) -> None:
    assert read_moment(text, TODAY) == moment
