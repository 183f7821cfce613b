"""The range engine: what a phrase about time says, as values, and the span that it means at a given now.

The tables of phrases (``when_en``, ``when_zh``) make the values; ``span_of`` resolves them. No text, no clock.

    "between 2 and 3 pm yesterday" -> Between(Moment(Clock(2)), Moment(Clock(15), Day(-1))) -> Span
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum, IntEnum
from typing import NamedTuple

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US


class Precision(IntEnum):
    """To what a point in time is said. The order is from coarse to fine."""

    HOUR = 1
    MINUTE = 2
    SECOND = 3


class PartRange(NamedTuple):
    """A part of the day in minutes from its midnight, and the clock times that people say with it."""

    start_min: int
    end_min: int
    clock_from_min: int
    clock_to_min: int


class Part(Enum):
    """Parts of a day. Night belongs to the day it begins on."""

    DAWN = PartRange(0, 6 * 60, 0, 7 * 60)  # 凌晨
    MORNING = PartRange(5 * 60, 12 * 60, 0, 12 * 60)
    MIDDAY = PartRange(11 * 60, 13 * 60, 11 * 60, 15 * 60)  # 中午
    AFTERNOON = PartRange(12 * 60, 18 * 60, 12 * 60, 19 * 60)
    EVENING = PartRange(18 * 60, 24 * 60, 16 * 60, 25 * 60)
    NIGHT = PartRange(18 * 60, 30 * 60, 17 * 60, 30 * 60)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day. ``either_half`` is set where neither half of the day was said: 2:30 may be 14:30."""

    hour: int
    minute: int = 0
    second: int = 0
    micro: int = 0
    precision: Precision = Precision.MINUTE
    either_half: bool = False

    def valid(self) -> bool:
        return self.hour < 24 and self.minute < 60 and self.second < 60


@dataclass(frozen=True, slots=True)
class Day:
    """A day, counted from today."""

    offset: int


@dataclass(frozen=True, slots=True)
class Weekday:
    """The most recent such day before today, or today; Monday is 0. ``before_this_week`` leaves this week out."""

    number: int
    before_this_week: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A point or a part of time as said: a clock time, a day, a part of a day, an instant, or so long ago.

    ``ago_us`` stands alone, ``unit_us`` is then the unit it was said in; and so does ``t_us``, an instant that was
    written with its offset.
    """

    clock: Clock | None = None
    day: "Day | Weekday | date | None" = None
    part: Part | None = None
    ago_us: int | None = None
    unit_us: int = 0
    t_us: int | None = None


@dataclass(frozen=True, slots=True)
class Last:
    """The last so many µs before now."""

    us: int


@dataclass(frozen=True, slots=True)
class Next:
    """The next so many µs, which nobody has seen."""

    us: int


@dataclass(frozen=True, slots=True)
class At:
    """A point: the second with two on either side, the minute, or two minutes on either side of an hour."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class Around:
    """More loosely: 30 s, two minutes or a quarter of an hour on either side."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class Since:
    """From then until now."""

    moment: Moment


@dataclass(frozen=True, slots=True)
class Before:
    """Until then, from the start of that day or, where ``within_us`` is not 0, so long before."""

    moment: Moment
    within_us: int = 0


@dataclass(frozen=True, slots=True)
class After:
    """From then on, to the end of that day or now or, where ``within_us`` is not 0, for so long."""

    moment: Moment
    within_us: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """From one point to another."""

    start: Moment
    end: Moment


Range = Last | Next | At | Around | Since | Before | After | Between

_AT = {
    Precision.SECOND: (2 * SECOND_US, 3 * SECOND_US),
    Precision.MINUTE: (0, MINUTE_US),
    Precision.HOUR: (2 * MINUTE_US, 2 * MINUTE_US),
}
_AROUND = {
    Precision.SECOND: (30 * SECOND_US, 31 * SECOND_US),
    Precision.MINUTE: (2 * MINUTE_US, 3 * MINUTE_US),
    Precision.HOUR: (15 * MINUTE_US, 15 * MINUTE_US),
}


def margins(precision: Precision, *, loose: bool) -> tuple[int, int]:
    """Return how many µs before and after a point a question about it looks at."""
    return (_AROUND if loose else _AT)[precision]


def ago_margin(unit_us: int, *, loose: bool) -> int:
    """Return the µs on either side of "N units ago": 5 s, 30 s, 10 minutes or half a day; loosely twice that."""
    if unit_us <= SECOND_US:
        margin = 5 * SECOND_US
    elif unit_us <= MINUTE_US:
        margin = 30 * SECOND_US
    elif unit_us <= HOUR_US:
        margin = 10 * MINUTE_US
    else:
        margin = 12 * HOUR_US
    return 2 * margin if loose else margin
