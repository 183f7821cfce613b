"""Spans as people read them."""

from zoneinfo import ZoneInfo

import pytest

from core.spans import Span
from qa.window_text import clock_text, offset_text, window_text
from tests.support.qa_stage import BERLIN, NOW, local_us


def text(start: str, end: str, zone: ZoneInfo = BERLIN, now: str = NOW) -> str:
    return window_text(Span(local_us(start, zone), local_us(end, zone)), zone, now_us=local_us(now, zone))


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2026-11-30 14:03:05", "2026-11-30 14:03:35", "14:03:05-14:03:35 Europe/Berlin (UTC+01:00)"),
        (
            "2026-11-29 14:03:05",
            "2026-11-29 14:03:35",
            "2026-11-29 14:03:05-14:03:35 Europe/Berlin (UTC+01:00)",
        ),
        (
            "2026-11-29 23:59:50",
            "2026-11-30 00:00:20",
            "2026-11-29 23:59:50 - 2026-11-30 00:00:20 Europe/Berlin (UTC+01:00)",
        ),
        (
            "2026-11-29 00:00:00",
            "2026-11-30 00:00:00",
            "2026-11-29 00:00:00-24:00:00 Europe/Berlin (UTC+01:00)",
        ),
        (
            "2026-07-01 14:00:00",
            "2026-07-01 15:00:00",
            "2026-07-01 14:00:00-15:00:00 Europe/Berlin (UTC+02:00)",
        ),
        (
            "2025-10-26 02:30:00",
            "2025-10-26 03:30:00",
            "2025-10-26 02:30:00 (UTC+02:00) - 2025-10-26 03:30:00 (UTC+01:00) Europe/Berlin",
        ),
    ],
)
def test_a_window_is_shown_with_zone_and_offset(start: str, end: str, shown: str) -> None:
    assert text(start, end) == shown


def test_offsets_of_half_hours_and_west_of_greenwich_are_shown_right() -> None:
    at = local_us("2026-01-15 12:00:00")
    assert offset_text(at, ZoneInfo("Asia/Kolkata")) == "UTC+05:30"
    assert offset_text(at, ZoneInfo("America/St_Johns")) == "UTC-03:30"
    assert offset_text(at, ZoneInfo("UTC")) == "UTC+00:00"


def test_one_time_has_its_date_where_that_is_not_todays() -> None:
    now_us = local_us(NOW)
    assert clock_text(local_us("2026-11-30 14:03:05.9"), BERLIN, now_us=now_us) == "14:03:05"
    assert clock_text(local_us("2026-11-29 14:03:05"), BERLIN, now_us=now_us) == "2026-11-29 14:03:05"
