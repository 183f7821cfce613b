"""How a language's table of phrases is read: the longest phrase found in a question says what it asks about."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Protocol

from qa.when_range import After, Around, At, Before, Between, Moment, Range, Since

ReadMoment = Callable[[str], Moment | None]
"""Reads one end point, as the table's pattern for end points matched it."""

Build = Callable[[re.Match[str], ReadMoment], Range | None]
"""Makes of a match what it says; None where it is no time after all."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """One form of words: how it is found in a text, and what it says."""

    pattern: re.Pattern[str]
    build: Build


class Table(Protocol):
    """The phrases of one language."""

    @property
    def phrases(self) -> tuple[Phrase, ...]: ...

    def tidy(self, text: str) -> str:
        """Return the text as the patterns expect it, of the same length, so that places in it stay valid."""

    def moment(self, text: str, today: date) -> Moment | None:
        """Read one end point; ``today`` is the local day, from which written dates count."""


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase found in a text: what it says, and the words that say it."""

    said: Range
    text: str


def find(text: str, table: Table, *, today: date) -> Found | None:
    """Return the longest phrase about time in ``text``, the first of equally long ones; None if there is none."""
    tidy = table.tidy(text)
    best: tuple[int, int, Range] | None = None

    def read(part: str) -> Moment | None:
        return table.moment(part, today)

    for phrase in table.phrases:
        for match in phrase.pattern.finditer(tidy):
            start, end = match.span()
            if best is not None and (start - end, start) >= (best[0] - best[1], best[0]):
                continue
            said = phrase.build(match, read)
            if said is not None:
                best = (start, end, said)
    return None if best is None else Found(best[2], text[best[0] : best[1]].strip())


def to_moment(kind: "type[At | Around | Since | Before | After]") -> Build:
    """Return what builds a range of this kind from the end point in group ``a``."""

    def build(match: re.Match[str], read: ReadMoment) -> Range | None:
        moment = read(match["a"])
        return None if moment is None else kind(moment)

    return build


def between(match: re.Match[str], read: ReadMoment) -> Range | None:
    """Build a range from the end points in groups ``a`` and ``b``, on the day in group ``day`` if there is one."""
    first, second = read(match["a"]), read(match["b"])
    if first is None or second is None:
        return None
    if first.ago_us is not None and second.ago_us is not None and first.ago_us <= second.ago_us:
        first, second = second, first
    if said_day := match.groupdict().get("day"):
        day = read(said_day)
        if day is None:
            return None
        if first.day is None:
            first = replace(first, day=day.day, part=first.part or day.part)
    return Between(first, second)
