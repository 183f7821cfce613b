"""Spans and times as people read them, always with zone and offset where a whole window is named. Pure."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from core.spans import Span
from qa.labels import crosses_midnight, local_time


def window_text(span: Span, zone: ZoneInfo, *, now_us: int) -> str:
    """Return a span with zone and offset: ``14:03:05-14:03:35 Europe/Berlin (UTC+01:00)``.

    The date stands before it where it is not today, and before both ends where it crosses midnight; both
    offsets stand where clocks change in between.
    """
    start, end = local_time(span.start_us, zone), local_time(span.end_us, zone)
    place = f"{zone.key} ({_offset(start)})"
    if start.utcoffset() != end.utcoffset():
        return f"{_at(start, dated=True)} ({_offset(start)}) - {_at(end, dated=True)} ({_offset(end)}) {zone.key}"
    if crosses_midnight(span, zone):
        return f"{_at(start, dated=True)} - {_at(end, dated=True)} {place}"
    today = local_time(now_us, zone).date()
    return f"{_at(start, dated=start.date() != today)}-{_end(span, end)} {place}"


def clock_text(t_us: int, zone: ZoneInfo, *, now_us: int) -> str:
    """Return one time, with its date where that is not today's: ``14:03:05``, ``2026-11-29 14:03:05``."""
    at = local_time(t_us, zone)
    return _at(at, dated=at.date() != local_time(now_us, zone).date())


def offset_text(t_us: int, zone: ZoneInfo) -> str:
    """Return the zone's offset at a time: ``UTC+01:00``."""
    return _offset(local_time(t_us, zone))


def _at(at: datetime, *, dated: bool) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}" if dated else f"{at:%H:%M:%S}"


def _end(span: Span, end: datetime) -> str:
    start_of_day = (end.hour, end.minute, end.second) == (0, 0, 0)
    if start_of_day and span.duration_us >= 1_000_000:
        return "24:00:00"
    return _at(end, dated=False)


def _offset(at: datetime) -> str:
    offset = at.utcoffset() or timedelta(0)
    sign = "-" if offset < timedelta(0) else "+"
    hours, seconds = divmod(abs(offset) // timedelta(seconds=1), 3600)
    return f"UTC{sign}{hours:02d}:{seconds // 60:02d}"
