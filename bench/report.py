"""Rows of figures, their targets, and how they are printed. Pure but for reading the targets file."""

import statistics
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path

TARGETS = Path(__file__).with_name("targets.toml")


class Verdict(IntEnum):
    """The exit code with ``--check``."""

    MET = 0
    MISSED = 1
    ABSENT = 2  # a real part, or a row that a target names, is not there


@dataclass(frozen=True, slots=True)
class Figure:
    """What a benchmark found: a name such as ``glass.p95``, a value, and the values' spread (min to max)."""

    name: str
    value: float
    unit: str
    spread: tuple[float, float]
    n: int


@dataclass(frozen=True, slots=True)
class Target:
    """A bound for one figure, with the sentence it comes from.

    ``at_most`` holds for the value itself. ``at_least`` holds for the upper end of its spread, which is a 95 % interval
    there: a target is missed only where chance does not explain it.
    """

    name: str
    unit: str
    quote: str
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"{self.name} takes one of at_most and at_least")

    @property
    def bound(self) -> float:
        return next(bound for bound in (self.at_most, self.at_least) if bound is not None)

    def met_by(self, figure: Figure) -> bool:
        """Return whether the figure keeps to the bound."""
        if self.at_most is not None:
            return figure.value <= self.at_most
        return figure.spread[1] >= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    value: float
    unit: str
    spread: tuple[float, float]
    n: int
    target: float | None
    at_least: bool
    met: bool | None
    machine: str


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all are not above (nearest rank)."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, -(-int(len(ordered) * share * 1000) // 1000) - 1)]


def median_figure(name: str, values: Sequence[float], unit: str) -> Figure:
    """Return the median of ``values`` with their spread."""
    return Figure(name, statistics.median(values), unit, (min(values), max(values)), len(values))


def p95_figure(name: str, values: Sequence[float], unit: str) -> Figure:
    """Return the 95th percentile of ``values`` with their spread."""
    return Figure(name, quantile(values, 0.95), unit, (min(values), max(values)), len(values))


def read_targets(path: Path = TARGETS) -> tuple[Target, ...]:
    """Return all targets."""
    with path.open("rb") as file:
        table = tomllib.load(file)
    return tuple(Target(**entry) for entry in table["target"])


def judge(figures: Iterable[Figure], targets: Iterable[Target], *, machine: str) -> tuple[Row, ...]:
    """Put each figure beside its target."""
    bounds = {target.name: target for target in targets}
    rows = []
    for figure in figures:
        target = bounds.get(figure.name)
        if target is not None and target.unit != figure.unit:
            raise ValueError(f"{figure.name} is in {figure.unit}, its target in {target.unit}")
        rows.append(
            Row(
                **asdict(figure) | {"spread": figure.spread},
                target=target.bound if target else None,
                at_least=target is not None and target.at_least is not None,
                met=target.met_by(figure) if target else None,
                machine=machine,
            )
        )
    return tuple(rows)


def missing(rows: Iterable[Row], targets: Iterable[Target], benches: Iterable[str]) -> tuple[str, ...]:
    """Return the names that targets of the benches that ran ask for and no row gives."""
    there = {row.name for row in rows}
    ran = set(benches)
    return tuple(t.name for t in targets if t.name.partition(".")[0] in ran and t.name not in there)


def verdict(rows: Sequence[Row], absent: Sequence[str]) -> tuple[Verdict, str]:
    """Return the exit code of ``--check`` and the sentence for the last line."""
    if absent:
        return Verdict.ABSENT, f"ABSENT: {', '.join(absent)}"
    failed = [row.name for row in rows if row.met is False]
    if failed:
        return Verdict.MISSED, f"MISSED: {', '.join(failed)}"
    judged = sum(row.met is not None for row in rows)
    return Verdict.MET, f"MET: {judged} of {judged} targets"


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text, columns aligned."""
    head = ("name", "value", "unit", "spread", "n", "target", "met")
    lines = [head, *map(_cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        _number(row.value),
        row.unit,
        f"{_number(row.spread[0])} .. {_number(row.spread[1])}",
        str(row.n),
        "" if row.target is None else f"{'>=' if row.at_least else '<='} {_number(row.target)}",
        {None: "", True: "yes", False: "NO"}[row.met],
    )


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
