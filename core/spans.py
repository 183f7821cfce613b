"""Half-open spans of stream time, ``[start_us, end_us)``, and the little arithmetic they need."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """``[start_us, end_us)`` in µs since 1970 UTC; never empty."""

    start_us: int
    end_us: int

    def __post_init__(self) -> None:
        if self.start_us >= self.end_us:
            raise ValueError(f"a span must end after its start: [{self.start_us}, {self.end_us})")

    @property
    def duration_us(self) -> int:
        return self.end_us - self.start_us

    def __contains__(self, t_us: int) -> bool:
        return self.start_us <= t_us < self.end_us

    def intersect(self, other: "Span") -> "Span | None":
        """Return what both share, or None."""
        start, end = max(self.start_us, other.start_us), min(self.end_us, other.end_us)
        return Span(start, end) if start < end else None


def merge(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the same time as few spans, in order; spans that touch become one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start_us <= merged[-1].end_us:
            merged[-1] = Span(merged[-1].start_us, max(merged[-1].end_us, span.end_us))
        else:
            merged.append(span)
    return tuple(merged)


def subtract(whole: Span, holes: Iterable[Span]) -> tuple[Span, ...]:
    """Return what is left of ``whole`` without ``holes``, in order."""
    left: list[Span] = []
    at_us = whole.start_us
    for hole in merge(holes):
        if hole.end_us <= at_us:
            continue
        if hole.start_us >= whole.end_us:
            break
        if hole.start_us > at_us:
            left.append(Span(at_us, hole.start_us))
        at_us = hole.end_us
    if at_us < whole.end_us:
        left.append(Span(at_us, whole.end_us))
    return tuple(left)
