"""What a language must be able to say of measurements. One structure, a table of words per language."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from core.records import Colour, Direction, SceneChangeKind, Side


class Ending(Enum):
    """How the story of a thing ends, as far as the span goes."""

    LEFT = "left"  # seen to leave over a side
    LAST_SEEN = "last seen"  # no longer seen, or no longer moving
    STILL_THERE = "still there"  # now
    STILL_THEN = "still then"  # at the span's end, which is past


@dataclass(frozen=True, slots=True)
class Story:
    """One thing, ready to be told. ``came`` and ``went`` are time labels of frames.

    ``present`` means that it was there before the span began.
    """

    came: str
    went: str
    present: bool
    entered: Side | None
    left: Side | None
    direction: Direction | None
    ending: Ending
    duration_us: int
    size: float
    colour: Colour | None


@dataclass(frozen=True, slots=True)
class Rest:
    """How much is not told one by one."""

    movements: int = 0
    changes: int = 0
    gaps: int = 0


Route = tuple[Side | None, Side | None, int]
"""Came in by, left by, how many."""


class Words(Protocol):
    """Says it in one language. Every method returns whole sentences; times come as labels or as clock text."""

    def one(self, story: Story) -> str:
        """Tell of one thing."""

    def several(self, start: str, end: str, stories: Sequence[Story]) -> str:
        """Tell of two or three things that moved at the same time."""

    def many(self, start: str, end: str, count: int, routes: Sequence[Route]) -> str:
        """Tell of more things than one can list."""

    def change(self, kind: SceneChangeKind, at: str) -> str:
        """Tell of a change of the whole picture."""

    def gap(self, text: str) -> str:
        """Make a sentence of a gap's text."""

    def still(self, since: str, until: str, *, ongoing: bool) -> str:
        """Say that nothing moved in all the span."""

    def slight(self, start: str, end: str) -> str:
        """Say that something flickered, but nothing could be followed."""

    def quiet_since(self, since: str, until: str) -> str:
        """Say that nothing has moved since the last thing told of."""

    def looked(self, at: str) -> str:
        """Say when the last look was."""

    def unseen(self, span: str) -> str:
        """Say that no picture is held of the span."""

    def rest(self, rest: Rest, start: str, end: str) -> str:
        """Say how much more there was."""

    def count(self, things: int, at_once: int) -> str:
        """Answer "how many"."""

    def presence(self, at: str, *, there: bool) -> str:
        """Answer "is something there now"."""

    def colour(self, colour: Colour | None, at: str) -> str:
        """Answer "what colour"."""

    def way(self, story: Story) -> str:
        """Answer "which way"."""

    def lasted(self, story: Story) -> str:
        """Answer "how long"."""
