"""Counts of right answers, their intervals, and the tables that tell of them. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bench.report import Figure
from models.builtin.things import MOST_OBJECTS, PICTURE_SIZES, Ground, ThingColour, ThingShape
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue

FRAME_CLASSES = ((1, 1), (2, 4), (5, 8), (9, 16), (17, 64))
JUDGED_FRAMES = {True: (1, 16), False: (4, 16)}
"""How many used frames an answer may be about to count for a target: of kinds about one frame, and of the others."""

_Z = 1.959964
"""Two-sided 95 % of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One question asked and judged.

    Attributes:
        frames: How many frames the model looked at.
        mention: How the question said which moment it is about.
        turns: How many questions stood before it in its conversation.
        exact: The answer is the true one letter by letter; ``true`` where order and close times do not count.
    """

    kind: Asked
    tongue: Tongue
    mention: str
    frames: int
    turns: int
    text: str
    answer: str
    given: str
    exact: bool
    true: bool

    @property
    def judged(self) -> bool:
        """Return whether it counts for its kind's target."""
        least, most = JUDGED_FRAMES[self.kind in SINGLE_FRAME]
        return least <= self.frames <= most


@dataclass(slots=True)
class Shown:
    """What the scenes showed, so that nothing is measured on easy ones only: counts by value."""

    objects: Counter[int] = field(default_factory=Counter)
    colours: Counter[ThingColour] = field(default_factory=Counter)
    shapes: Counter[ThingShape] = field(default_factory=Counter)
    grounds: Counter[Ground] = field(default_factory=Counter)
    sizes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def least_share(self) -> tuple[float, str]:
        """Return the smallest count as a share of an even share, and which value has it."""
        values: list[tuple[Counter[object], Sequence[object]]] = [
            (self.objects, range(MOST_OBJECTS + 1)),  # type: ignore[list-item]  # a Counter's key is invariant
            (self.colours, list(ThingColour)),  # type: ignore[list-item]  # the same
            (self.shapes, list(ThingShape)),  # type: ignore[list-item]  # the same
            (self.grounds, list(Ground)),  # type: ignore[list-item]  # the same
            (self.sizes, PICTURE_SIZES),  # type: ignore[list-item]  # the same
        ]
        shares = [
            (counts[value] * len(all_of) / max(1, counts.total()), str(value))
            for counts, all_of in values
            for value in all_of
        ]
        return min(shares)

    def told(self) -> str:
        """Return one line for each property."""
        lines = []
        for name in ("objects", "colours", "shapes", "grounds", "sizes"):
            counts: Counter[object] = getattr(self, name)
            pairs = sorted(counts.items(), key=lambda pair: str(pair[0]))
            lines.append(f"{name}: " + ", ".join(f"{_name(value)} {count}" for value, count in pairs))
        return "\n".join(lines)


def wilson(right: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, 0 to 1; nothing is known of no trials.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if of == 0:
        return 0.0, 1.0
    share, square = right / of, _Z * _Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = _Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def difference(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """Return the 95 % interval of the first share less the second, each as (right, of).

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions, Statistics in
    Medicine 17 (1998), method 10.
    """
    (p, q), (a, b) = (first[0] / first[1], second[0] / second[1]), wilson(*first)
    c, d = wilson(*second)
    down = math.sqrt((p - a) ** 2 + (d - q) ** 2)
    up = math.sqrt((b - p) ** 2 + (q - c) ** 2)
    return p - q - down, p - q + up


def baseline(answers: Iterable[Answered]) -> float:
    """Return how often somebody is right who always gives the most frequent answer of the language."""
    given: dict[Tongue, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        given[answer.tongue][answer.answer] += 1
    total = sum(counts.total() for counts in given.values())
    return sum(counts.most_common(1)[0][1] for counts in given.values()) / max(1, total)


def figures(answers: Sequence[Answered]) -> list[Figure]:
    """Return the rows of the report: per kind the exact and the true share of what is judged, with intervals."""
    found = []
    for kind in Asked:
        some = [answer for answer in answers if answer.kind is kind and answer.judged]
        found += [_figure(f"accuracy.{kind}.{rule}", some, rule) for rule in ("exact", "true")]
    return found


def tables(answers: Sequence[Answered]) -> str:
    """Return everything measured as text: by kind, by frames, by words about time, by language, by turns before."""
    kinds = [kind for kind in Asked if any(answer.kind is kind for answer in answers)]
    single = [kind for kind in kinds if kind in SINGLE_FRAME]
    over = [kind for kind in kinds if kind not in SINGLE_FRAME]
    parts = [
        _table("about the last frame, windows of 1 to 16 frames", _by_kind(answers, single)),
        _table("about a span, windows of 4 to 16 frames", _by_kind(answers, over)),
        "exact by frames used\n"
        + _split(answers, kinds, _frames_name, [_class_name(c) for c in FRAME_CLASSES]),
    ]
    splits: list[tuple[str, Callable[[Answered], str]]] = [
        ("words about time", lambda answer: answer.mention),
        ("language", lambda answer: answer.tongue.value),
        ("turns before", lambda answer: str(answer.turns)),
    ]
    for title, key in splits:
        names = sorted({key(answer) for answer in answers})
        parts.append(f"exact by {title}\n" + _split(answers, kinds, key, names))
    return "\n\n".join(parts)


def _figure(name: str, answers: Sequence[Answered], rule: str) -> Figure:
    right = sum(getattr(answer, rule) for answer in answers)
    return Figure(name, right / max(1, len(answers)), "share", wilson(right, len(answers)), len(answers))


def _by_kind(answers: Sequence[Answered], kinds: Sequence[Asked]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for kind in kinds:
        some = [answer for answer in answers if answer.kind is kind and answer.judged]
        exact, true = sum(answer.exact for answer in some), sum(answer.true for answer in some)
        low, high = wilson(exact, len(some))
        rows.append(
            (
                kind.value,
                str(len(some)),
                _percent(exact, len(some)),
                f"{100 * low:.1f} .. {100 * high:.1f}",
                _percent(true, len(some)),
                f"{100 * baseline(some):.1f}",
            )
        )
    return rows


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    return f"{title}\n" + _aligned([("kind", "n", "exact %", "95 %", "true %", "majority %"), *rows])


def _split(
    answers: Sequence[Answered], kinds: Sequence[Asked], key: Callable[[Answered], str], names: Sequence[str]
) -> str:
    rows: list[tuple[str, ...]] = [("kind", *names)]
    for kind in (*kinds, None):
        cells = []
        for name in names:
            some = [a for a in answers if key(a) == name and kind in (None, a.kind)]
            cells.append(f"{_percent(sum(a.exact for a in some), len(some))} of {len(some)}" if some else "-")
        rows.append(("all" if kind is None else kind.value, *cells))
    return _aligned(rows)


def _frames_name(answer: Answered) -> str:
    return next(_class_name(c) for c in FRAME_CLASSES if c[0] <= answer.frames <= c[1])


def _class_name(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"


def _percent(right: int, of: int) -> str:
    return f"{100 * right / of:.1f}" if of else "-"


def _name(value: object) -> str:
    return f"{value[0]}x{value[1]}" if isinstance(value, tuple) else str(value)


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
