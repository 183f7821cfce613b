"""How questions and answers of the toy world are worded. Data and a little grammar; what is true is decided elsewhere.

Every question form is a sentence with slots: ``{thing}`` "red circle", ``{a thing}`` with its article, ``{colour}``,
``{shape}``, ``{shapes}``; ``{when}`` takes words about time, or nothing.
"""

from dataclasses import dataclass
from enum import StrEnum

from models.builtin.things import ThingColour, ThingShape
from models.builtin.watched import Way


class Tongue(StrEnum):
    """Languages of questions and answers."""

    EN = "en"
    ZH = "zh"


class Asked(StrEnum):
    """Kinds of questions; those of ``SINGLE_FRAME`` are about the last of the used frames, the others about all."""

    HOW_MANY = "how_many"
    COLOUR = "colour"
    SHAPE = "shape"
    WHERE = "where"
    THERE = "there"
    SEE = "see"
    WAY = "way"
    MOVED = "moved"
    HAPPENED = "happened"
    APPEARED = "appeared"
    LEFT = "left"
    TIME = "time"


SINGLE_FRAME = frozenset(
    {Asked.HOW_MANY, Asked.COLOUR, Asked.SHAPE, Asked.WHERE, Asked.THERE, Asked.SEE, Asked.TIME}
)


@dataclass(frozen=True, slots=True)
class Words:
    """One language's words.

    Attributes:
        forms: Question forms by kind.
        some_forms: Forms of ``HOW_MANY`` that ask for some of the objects.
        follow_forms: Forms that say "it" for the thing asked about before.
        now, over: Words about time that fit questions about one frame, and about a span; slots ``{at}``, ``{from}``,
            ``{to}``, ``{n}``.
        zones: By row and column.
    """

    colours: dict[ThingColour, str]
    shapes: dict[ThingShape, str]
    plurals: dict[ThingShape, str]
    zones: tuple[tuple[str, str, str], ...]
    ways: dict[Way, str]
    counts: tuple[str, ...]
    forms: dict[Asked, tuple[str, ...]]
    some_forms: tuple[str, ...]
    follow_forms: dict[Asked, tuple[str, ...]]
    now: tuple[str, ...]
    over: tuple[str, ...]
    answers: dict[str, str]

    def thing(self, colour: ThingColour, shape: ThingShape) -> str:
        return self.answers["thing"].format(colour=self.colours[colour], shape=self.shapes[shape])

    def a(self, name: str) -> str:
        """Return a name with its article, where the language has articles."""
        article = "an" if name[0] in "aeiou" else "a"
        return self.answers["a"].format(article=article, name=name)

    def zone(self, row: int, column: int) -> str:
        return self.zones[row][column]
