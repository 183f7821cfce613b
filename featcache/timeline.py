"""What a page draws of one camera's span: samples, quiet parts, gaps, things that moved. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from core.records import EpochStart, Gap, GapReason, ObjectTrack, Record, SceneChange, StaticSpan
from core.spans import Span, merge
from featcache.window import FrameInfo, Head, Tier


@dataclass(frozen=True, slots=True)
class TimelineGap:
    """A part without frames; ``end_us`` is None while it lasts."""

    start_us: int
    end_us: int | None
    reason: GapReason


@dataclass(frozen=True, slots=True)
class TierRun:
    """Consecutive frames whose data lies in the same place: from the first of them to the next run."""

    span: Span
    tier: Tier


@dataclass(frozen=True, slots=True)
class Timeline:
    """One camera's span as the page draws it. Everything is in order of time.

    Attributes:
        samples: The frames held of the span.
        static: Parts in which nothing moved, cut to the span.
        gaps: Parts without frames, their start cut to the span, their end too unless they are still open.
        tracks: Things that moved, whole, also where they begin before the span or end after it.
        scenes: Changes of the whole picture.
        tiers: Where the samples' data lies.
    """

    span: Span
    now_us: int
    evicted_before_us: int | None
    samples: tuple[FrameInfo, ...]
    static: tuple[Span, ...]
    gaps: tuple[TimelineGap, ...]
    tracks: tuple[ObjectTrack, ...]
    scenes: tuple[SceneChange, ...]
    tiers: tuple[TierRun, ...]


def timeline(
    span: Span, *, index: tuple[FrameInfo, ...], records: Iterable[Record], head: Head, now_us: int
) -> Timeline:
    """Return the timeline of ``span`` from the window's index and records of the same span."""
    static: list[Span] = []
    gaps: list[TimelineGap] = []
    tracks: list[ObjectTrack] = []
    scenes: list[SceneChange] = []
    for record in records:
        match record:
            case StaticSpan():
                start_us, end_us = max(record.start_us, span.start_us), min(record.end_us, span.end_us)
                if start_us < end_us:
                    static.append(Span(start_us, end_us))
            case Gap():
                end = None if record.end_us is None else min(record.end_us, span.end_us)
                start_us = max(record.start_us, span.start_us)
                if start_us < (span.end_us if end is None else end):
                    gaps.append(TimelineGap(start_us, end, record.reason))
            case ObjectTrack():
                tracks.append(record)
            case SceneChange():
                scenes.append(record)
            case EpochStart():
                pass
            case _:
                assert_never(record)
    return Timeline(
        span=span,
        now_us=now_us,
        evicted_before_us=head.evicted_before_us,
        samples=index,
        static=merge(static),
        gaps=tuple(sorted(gaps, key=lambda gap: gap.start_us)),
        tracks=tuple(sorted(tracks, key=lambda track: (track.start_us, track.number))),
        scenes=tuple(sorted(scenes, key=lambda scene: scene.start_us)),
        tiers=_runs(index),
    )


def _runs(index: tuple[FrameInfo, ...]) -> tuple[TierRun, ...]:
    firsts = [frame for at, frame in enumerate(index) if at == 0 or index[at - 1].tier is not frame.tier]
    ends = [frame.t_us for frame in firsts[1:]] + [index[-1].t_us + 1 if index else 0]
    return tuple(
        TierRun(Span(frame.t_us, end_us), frame.tier) for frame, end_us in zip(firsts, ends, strict=False)
    )
