"""Written dates."""

from datetime import date

import pytest

from qa.answers import Language
from qa.when_dates import warm_up, written_date

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3 March", date(2026, 3, 3)),
        ("March 3rd", date(2026, 3, 3)),
        ("3rd of March", date(2026, 3, 3)),
        ("December 5", date(2025, 12, 5)),
        ("Nov 30", TODAY),
        ("5 May 2025", date(2025, 5, 5)),
        ("2025-03-30", date(2025, 3, 30)),
        ("31 June", None),
        ("March", None),
        ("1 January 0001", None),
    ],
)
def test_english_dates_are_the_most_recent_such_day(text: str, day: date | None) -> None:
    assert written_date(text, Language.EN, today=TODAY) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3月5日", date(2026, 3, 5)),
        ("12月5日", date(2025, 12, 5)),
        ("2025年3月5日", date(2025, 3, 5)),
        ("2月30日", None),
    ],
)
def test_chinese_dates_are_the_most_recent_such_day(text: str, day: date | None) -> None:
    assert written_date(text, Language.ZH, today=TODAY) == day


def test_warming_up_loads_without_complaint() -> None:
    warm_up()
