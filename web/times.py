"""Times on the wire: RFC 3339 in UTC with microseconds, to and from integer µs. Exact, without floats."""

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?(?:([Zz])|([+-]\d\d:\d\d))", re.ASCII
)


class BadTime(ValueError):
    """Text that is not an RFC 3339 time since 1970."""


def to_rfc3339(t_us: int) -> str:
    """Return ``t_us`` (µs since 1970 UTC) as ``2026-11-30T14:03:05.250000Z``."""
    return (_EPOCH + timedelta(microseconds=t_us)).isoformat(timespec="microseconds")[:-6] + "Z"


def from_rfc3339(text: str) -> int:
    """Return µs since 1970 UTC. Digits beyond the microsecond are cut off; an offset is needed.

    Raises:
        BadTime: not RFC 3339, not a real date, or before 1970.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise BadTime("should be an RFC 3339 time with offset, such as 2026-11-30T14:03:05Z")
    day, clock, fraction, _, offset = found.groups()
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{offset or '+00:00'}")
        t_us = (whole - _EPOCH) // _MICROSECOND + int((fraction or "0").ljust(6, "0")[:6])
    except (ValueError, OverflowError):
        raise BadTime("should be a time that exists") from None
    if t_us < 0:
        raise BadTime("should lie after 1970")
    return t_us
