"""Resolve a range of words into a span of instants, at a given now, in a given zone. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import assert_never
from zoneinfo import ZoneInfo

from core.spans import Span
from qa.when_clock import Instants, Note, NoteKind, day_start_us, instants_of, local_now
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
    ago_margin,
    margins,
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A span, what to say about it, and whether the words named a point rather than a range."""

    span: Span
    note: Note | None = None
    point: bool = False


@dataclass(frozen=True, slots=True)
class _Placed:
    """A moment in time: an instant (or two), or with ``precision`` None a whole part of time from first to last."""

    first_us: int
    last_us: int
    precision: Precision | None = None
    note: Note | None = None


def resolve(said: Range, *, now_us: int, zone: ZoneInfo) -> Resolved | None:
    """Return the span that ``said`` means, or None where it cannot mean one (such as 25:00).

    What has begun ends at ``now_us`` at the latest; a span that starts at ``now_us`` or later is left whole, so
    that it can be told from the past.
    """
    return _Resolver(now_us, zone).resolve(said)


class _Resolver:
    def __init__(self, now_us: int, zone: ZoneInfo) -> None:
        self._now_us = now_us
        self._zone = zone
        self._now = local_now(now_us, zone)
        self._today = self._now.date()

    def resolve(self, said: Range) -> Resolved | None:
        match said:
            case Last(us):
                return self._clip(self._now_us - us, self._now_us)
            case Next(us):
                return self._clip(self._now_us, self._now_us + us)
            case Between(start, end):
                return self._between(start, end)
            case At(moment) | Around(moment):
                return self._at(moment, loose=isinstance(said, Around))
            case Since(moment) | Before(moment) | After(moment):
                return self._open(said, moment)
        assert_never(said)

    # ------------------------------------------------------------ kinds of range

    def _at(self, moment: Moment, *, loose: bool) -> Resolved | None:
        placed = self._place(moment)
        if placed is None:
            return None
        if moment.ago_us is not None:
            margin = ago_margin(moment.unit_us, loose=loose)
            return self._clip(placed.first_us - margin, placed.last_us + margin, point=True)
        if placed.precision is None:
            return self._clip(placed.first_us, placed.last_us, placed.note)
        before_us, after_us = margins(placed.precision, loose=loose)
        return self._clip(placed.first_us - before_us, placed.last_us + after_us, placed.note, point=True)

    def _open(self, said: Since | Before | After, moment: Moment) -> Resolved | None:
        placed = self._place(moment)
        if placed is None:
            return None
        match said:
            case Since():
                start_us, end_us = placed.first_us, max(self._now_us, placed.first_us + 1)
            case Before(_, within_us):
                end_us = placed.last_us if placed.precision is not None else placed.first_us
                start_us = end_us - within_us if within_us else self._day_of_us(end_us - 1)
            case After(_, within_us):
                start_us = placed.first_us if placed.precision is not None else placed.last_us
                end_us = start_us + within_us if within_us else self._end_of_day_us(start_us)
            case _:
                assert_never(said)
        return self._clip(start_us, end_us, placed.note)

    def _between(self, start: Moment, end: Moment) -> Resolved | None:
        if start.day is None and end.day is not None:
            start = replace(start, day=end.day) if start.clock is not None else start
        if start.clock is None or end.clock is None:
            return self._between_placed(start, end)
        pairs = [
            (begin, finish)
            for begin in self._locals(start)
            for finish in self._ends(end, begin, same_day=start.day == end.day)
        ]
        if not pairs:
            return None
        begin, finish = min(pairs, key=lambda pair: self._pair_order(pair, start))
        first, last = instants_of(begin, self._zone), instants_of(finish, self._zone)
        start_us, end_us = first.first_us, last.last_us
        if end_us <= start_us:  # an end within or just after a skipped hour
            end_us = start_us + max(timedelta(seconds=1), finish - begin) // timedelta(microseconds=1)
        return self._clip(start_us, end_us, first.note or last.note)

    def _between_placed(self, start: Moment, end: Moment) -> Resolved | None:
        first, last = self._place(start), self._place(end)
        if first is None or last is None:
            return None
        start_us, end_us = first.first_us, last.last_us
        if end_us < start_us:
            start_us, end_us = last.first_us, first.last_us
        return self._clip(start_us, end_us, first.note or last.note)

    def _pair_order(self, pair: tuple[datetime, datetime], start: Moment) -> tuple[bool, timedelta, int]:
        """Order readings of a pair: begun before now, then the shorter, then the more recent or more literal."""
        begin_us = instants_of(pair[0], self._zone).first_us
        literal = start.day is not None and self._date_of(start.day, start.part) != self._today
        return begin_us >= self._now_us, pair[1] - pair[0], begin_us if literal else -begin_us

    # ------------------------------------------------------------ moments

    def _place(self, moment: Moment) -> _Placed | None:
        if moment.ago_us is not None:
            at_us = self._now_us - moment.ago_us
            return _Placed(at_us, at_us, Precision.SECOND)
        if moment.t_us is not None:
            return _Placed(moment.t_us, moment.t_us, Precision.SECOND)
        if moment.clock is None:
            return self._place_part(moment)
        past: list[tuple[Instants, datetime]] = []
        future: list[tuple[Instants, datetime]] = []
        for local in self._locals(moment):
            instants = instants_of(local, self._zone)
            (past if instants.first_us < self._now_us else future).append((instants, local))
        if not past and not future:
            return None
        day = None if moment.day is None else self._date_of(moment.day, moment.part)
        if day is not None and day != self._today:
            instants, local = (past + future)[0]  # as written, by the 24-hour clock
        elif past:
            instants, local = max(past, key=lambda found: found[0].first_us)
        else:
            instants, local = min(future, key=lambda found: found[0].first_us)
        note = instants.note or self._assumption(moment, local, instants)
        return _Placed(instants.first_us, instants.last_us, moment.clock.precision, note)

    def _place_part(self, moment: Moment) -> _Placed | None:
        days = self._days(moment)
        for day in days:
            start_us, end_us = self._part_us(day, moment.part)
            if start_us < self._now_us or day == days[-1]:
                return _Placed(start_us, end_us)
        return None

    def _locals(self, moment: Moment) -> list[datetime]:
        """Return the wall times that a moment with a clock time may mean, the literal reading of a day first."""
        clock = moment.clock
        if clock is None or not clock.valid():
            return []
        found = []
        for day in self._days(moment):
            for minutes in self._day_minutes(clock, moment.part):
                at = timedelta(minutes=minutes, seconds=clock.second, microseconds=clock.micro)
                found.append(datetime(day.year, day.month, day.day) + at)  # noqa: DTZ001 - local on purpose
        return found

    def _ends(self, end: Moment, begin: datetime, *, same_day: bool) -> Iterator[datetime]:
        """Yield the wall times that the end of a pair may mean, all after ``begin``."""
        if end.day is not None and not same_day:
            yield from (at for at in self._locals(end) if at > begin)
            return
        clock = end.clock
        if clock is None or not clock.valid():
            return
        for minutes in self._day_minutes(clock, end.part):
            at = timedelta(minutes=minutes % (24 * 60), seconds=clock.second, microseconds=clock.micro)
            finish = datetime(begin.year, begin.month, begin.day) + at  # noqa: DTZ001 - local on purpose
            yield finish if finish > begin else finish + timedelta(days=1)

    def _day_minutes(self, clock: Clock, part: Part | None) -> list[int]:
        """Return the minutes from midnight that a clock time may mean within its part of the day."""
        literal = clock.hour * 60 + clock.minute
        readings = [literal, (literal + 12 * 60) % (24 * 60)] if clock.either_half else [literal]
        if part is None:
            return readings
        limits = part.value
        fitting = [
            at
            for reading in readings
            for at in (reading, reading + 24 * 60)
            if limits.clock_from_min <= at < limits.clock_to_min
        ]
        return fitting or readings[:1]

    def _days(self, moment: Moment) -> list[date]:
        """Return the days a moment may be on, most recent first; just one where it names it."""
        if moment.day is None:
            return [self._today, self._today - timedelta(days=1)]
        return [self._date_of(moment.day, moment.part)]

    def _date_of(self, day: Day | Weekday | date, part: Part | None) -> date:
        match day:
            case Day(offset):
                if part is Part.NIGHT and offset == 0 and self._now.hour < 6:
                    offset = -1  # after midnight, tonight is the night that began yesterday
                return self._today + timedelta(days=offset)
            case Weekday(number, before_this_week):
                back = (self._today.weekday() - number) % 7
                if before_this_week and back <= self._today.weekday():
                    back += 7
                return self._today - timedelta(days=back)
            case date():
                return day
        assert_never(day)

    def _part_us(self, day: date, part: Part | None) -> tuple[int, int]:
        if part is None:
            return day_start_us(day, self._zone), day_start_us(day + timedelta(days=1), self._zone)
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - local on purpose
        start = instants_of(midnight + timedelta(minutes=part.value.start_min), self._zone)
        end = instants_of(midnight + timedelta(minutes=part.value.end_min), self._zone)
        return start.first_us, end.last_us

    def _assumption(self, moment: Moment, local: datetime, instants: Instants) -> Note | None:
        clock = moment.clock
        other_day = moment.day is None and local.date() != self._today
        half_guessed = clock is not None and moment.part is None and local.hour != clock.hour
        if clock is None or not (other_day or half_guessed):
            return None
        said = f"{clock.hour}:{clock.minute:02d}" + (f":{clock.second:02d}" if clock.second else "")
        return Note(NoteKind.ASSUMED, said, (instants.first_us,))

    # ------------------------------------------------------------ bounds

    def _clip(
        self, start_us: int, end_us: int, note: Note | None = None, *, point: bool = False
    ) -> Resolved | None:
        start_us = max(0, start_us)
        if start_us < self._now_us:
            end_us = min(end_us, self._now_us)
        return Resolved(Span(start_us, end_us), note, point) if start_us < end_us else None

    def _day_of_us(self, t_us: int) -> int:
        return day_start_us(local_now(t_us, self._zone).date(), self._zone)

    def _end_of_day_us(self, t_us: int) -> int:
        return day_start_us(local_now(t_us, self._zone).date() + timedelta(days=1), self._zone)
