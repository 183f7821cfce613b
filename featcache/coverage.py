"""What of an asked span could be seen, worked out from the window alone. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.records import Gap, GapReason, Record, StaticSpan
from core.spans import Span, merge, subtract
from featcache.window import Head


@dataclass(frozen=True, slots=True)
class CoveredGap:
    """A part of the asked span in which the camera was away, and why."""

    span: Span
    reason: GapReason


@dataclass(frozen=True, slots=True)
class Covered:
    """What of ``asked`` could be seen.

    Attributes:
        covered: Parts in which the camera was watched and the frames are still held, in order.
        static: Parts in which nothing moved, in order; they may reach into what has been evicted, because
            records outlive frames.
        gaps: Parts in which the camera was away, by start; gaps for different reasons may overlap.
        evicted_before_us: Frames before this time have aged out; None if none has.
        last_frame_age_us: Age of the newest frame held, never negative; None without any.
    """

    asked: Span
    covered: tuple[Span, ...]
    static: tuple[Span, ...]
    gaps: tuple[CoveredGap, ...]
    evicted_before_us: int | None
    last_frame_age_us: int | None


def coverage(asked: Span, *, records: Iterable[Record], head: Head, now_us: int) -> Covered:
    """Return what of ``asked`` could be seen.

    Covered is the part of ``asked`` from the camera's first frame ever (or, once frames have aged out, from
    the eviction mark) up to now, without its gaps. A gap that is still open reaches to now. What lies ahead
    of now is neither covered nor a gap.

    Args:
        records: At least those that touch ``asked``; other kinds than gaps and static spans do not matter.
        head: How far the camera's window reaches, read together with the records.
        now_us: Stream time of the question, µs.
    """
    records = tuple(records)
    past = _clip(asked.start_us, min(asked.end_us, now_us))
    gaps = _gaps(records, past) if past else ()
    return Covered(
        asked=asked,
        covered=_watched(past, head, gaps) if past else (),
        static=_static(records, past) if past else (),
        gaps=gaps,
        evicted_before_us=head.evicted_before_us,
        last_frame_age_us=None if head.newest_us is None else max(0, now_us - head.newest_us),
    )


def _watched(past: Span, head: Head, gaps: tuple[CoveredGap, ...]) -> tuple[Span, ...]:
    begin_us = head.oldest_us if head.evicted_before_us is None else head.evicted_before_us
    if begin_us is None:
        return ()
    held = _clip(max(past.start_us, begin_us), past.end_us)
    return subtract(held, (gap.span for gap in gaps)) if held else ()


def _gaps(records: tuple[Record, ...], past: Span) -> tuple[CoveredGap, ...]:
    found = [
        CoveredGap(part, record.reason)
        for record in records
        if isinstance(record, Gap)
        and (
            part := _clip(
                max(record.start_us, past.start_us),
                past.end_us if record.end_us is None else min(record.end_us, past.end_us),
            )
        )
    ]
    return tuple(sorted(found, key=lambda gap: (gap.span, gap.reason)))


def _static(records: tuple[Record, ...], past: Span) -> tuple[Span, ...]:
    return merge(
        part
        for record in records
        if isinstance(record, StaticSpan)
        and (part := _clip(max(record.start_us, past.start_us), min(record.end_us, past.end_us)))
    )


def _clip(start_us: int, end_us: int) -> Span | None:
    return Span(start_us, end_us) if start_us < end_us else None
