"""Evidence for measured answers, made by hand or from a played clip, and what no sentence may say."""

import re
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from core.frames import KeepReason
from core.ids import CameraId, make_frame_ref
from core.records import Colour, Direction, ObjectTrack, PathPoint, Record, Side
from core.spans import Span
from featcache.window import FrameInfo, Tier
from qa.answers import Coverage, CoverageGap, UsedFrame
from qa.citations import CitationChecker
from qa.labels import time_label
from qa.measured import MeasuredAnswer
from qa.ports import Evidence
from tests.support.replay import CAMERA, Played

ZONE = ZoneInfo("UTC")
BASE_US = 1_800_000_000_000_000 - 1_800_000_000_000_000 % 86_400_000_000 + 50_400_000_000
"""14:00:00 of some day."""

KINDS = re.compile(
    r"\b(?:person|persons|people|human|humans|man|men|woman|women|child|children|somebody|someone|anybody|nobody"
    r"|pedestrian|visitor|guest|driver|car|cars|vehicle|vehicles|van|truck|bus|bicycle|bike|motorcycle|hand|hands"
    r"|arm|animal|dog|cat|bird|bottle|bottles|face|head|he|she|they|who)\b"
    r"|人|车|手|动物|狗|猫|鸟|瓶|他|她|谁",
    re.IGNORECASE,
)
"""Kinds of things, which nobody has measured."""


def at(seconds: float) -> int:
    return BASE_US + round(seconds * 1_000_000)


def frames_at(
    times: Sequence[float], *, camera: CameraId = CAMERA, motion: float = 0.0
) -> tuple[FrameInfo, ...]:
    """Return frames at these seconds after 14:00:00."""
    found: list[FrameInfo] = []
    for n, seconds in enumerate(times):
        t_us = at(seconds)
        tenths = bool(found) and found[-1].t_us // 1_000_000 == t_us // 1_000_000
        ref = make_frame_ref(camera, t_us)
        found.append(FrameInfo(ref, t_us, n, KeepReason.MOTION, motion, tenths, 0, 900, Tier.MEMORY))
    return tuple(found)


def track(
    start: float,
    end: float,
    *,
    number: int = 1,
    entered: Side | None = Side.LEFT,
    left: Side | None = Side.RIGHT,
    direction: Direction | None = Direction.RIGHT,
    open_: bool = False,
    size: float = 0.1,
    colour: Colour | None = None,
    path: Sequence[tuple[float, float]] = ((0.1, 0.5), (0.9, 0.5)),
) -> ObjectTrack:
    """Return a track from ``start`` to ``end`` seconds after 14:00:00."""
    step = (end - start) / max(1, len(path) - 1)
    points = tuple(PathPoint(at(start + n * step), x, y) for n, (x, y) in enumerate(path))
    return ObjectTrack(
        number, at(start), at(end), open_, entered, None if open_ else left, direction, size, colour, points
    )


def evidence(
    records: Sequence[Record] = (),
    *,
    frames: Sequence[FrameInfo] | None = None,
    start: float = 0.0,
    end: float = 60.0,
    now: float | None = None,
    gaps: Sequence[CoverageGap] = (),
    text: str = "",
) -> Evidence:
    """Return evidence of ``[start, end)``, seconds after 14:00:00, with a frame each half second unless given."""
    span = Span(at(start), at(end))
    if frames is None:
        frames = frames_at([start + n / 2 for n in range(int((end - start) * 2))])
    coverage = Coverage(span, (span,), (), tuple(gaps), None, 0.1)
    return Evidence(
        span, ZONE, at(end if now is None else now), tuple(records), tuple(frames), coverage, False, text
    )


def evidence_of(played: Played, *, last_s: float | None = None, text: str = "") -> Evidence:
    """Return the evidence that a played clip leaves at its end, of all of it or its last seconds."""
    first_us = played.samples[0].t_us if last_s is None else played.end_us - round(last_s * 1_000_000)
    span = Span(first_us, played.end_us + 1)
    frames: list[FrameInfo] = []
    before_us = 0
    for n, sample in enumerate(played.samples):
        tenths, before_us = before_us // 1_000_000 == sample.t_us // 1_000_000, sample.t_us
        ref = make_frame_ref(sample.camera_id, sample.t_us)
        info = FrameInfo(ref, sample.t_us, n, sample.reason, sample.motion, tenths, 0, 900, Tier.MEMORY)
        frames += [info] if sample.t_us in span else []
    records = tuple(r for r in played.records if r.start_us < span.end_us and r.end_us >= span.start_us)
    coverage = Coverage(span, (span,), (), (), None, 0.0)
    return Evidence(span, ZONE, played.end_us, records, tuple(frames), coverage, False, text)


def cited(answer: MeasuredAnswer, sentence: str) -> list[int]:
    """Return the stream times that a sentence names, after the check that every answer goes through.

    Raises AssertionError where a label matches no frame that the answer names.
    """
    used = [UsedFrame(f.ref, f.t_us, time_label(f.t_us, ZONE, tenths=f.tenths)) for f in answer.frames]
    citations = CitationChecker(used, ZONE).feed(sentence)
    assert all(c.verified for c in citations), sentence
    return [c.t_us for c in citations if c.t_us is not None]
