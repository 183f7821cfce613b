"""What the window holds for a question: frames of its span, records, coverage, and the choice of frames."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.ids import InvalidFrameRef, split_frame_ref
from core.records import Record
from core.spans import Span
from featcache.coverage import coverage
from featcache.errors import UnknownCamera
from featcache.window import FrameInfo, Head, StoredFrame, WindowReader
from models.decoder import ModelProfile, Reads
from qa.answers import Coverage, CoverageGap, Outcome
from qa.choose import RECENT_US, choose_recent, choose_span, max_frames_of, recent_count
from qa.hear import Heard
from qa.outcome import outcome_of


@dataclass(frozen=True, slots=True)
class Look:
    """What is held of a span.

    Attributes:
        frames: All frames held of it, oldest first.
        chosen: Those that a model is to look at; all of them for the measured answer.
        foreign: There are frames that are not of the world of a model that knows one world only.
    """

    span: Span
    head: Head
    frames: tuple[FrameInfo, ...]
    chosen: tuple[FrameInfo, ...]
    records: tuple[Record, ...]
    coverage: Coverage
    outcome: Outcome
    foreign: bool = False


async def look(heard: Heard, window: WindowReader, *, profile: ModelProfile | None) -> Look:
    """Return what the window holds for a question.

    Args:
        profile: The model that will look; None for the measured answer, which is about the last 30 s where the
            question names no span. Without a span, a model that knows one world only is held to the last 30 s
            too: what it does not choose of them must be of its world as well.

    Raises:
        WindowUnavailable: as the window says.
    """
    camera_id = heard.camera.id
    recent = Span(max(0, heard.now_us - RECENT_US), heard.now_us)
    try:
        head = await window.head(camera_id)
    except UnknownCamera:  # registered a moment ago, its road has not begun yet
        head = Head(heard.camera.incarnation, None, None, None, 0, 0)
        return _judged(heard, heard.span or recent, head, frames=(), chosen=(), records=())
    if heard.span is not None or profile is None:
        span = heard.span or recent
        frames = await window.index(camera_id, span)
        chosen = frames if profile is None else _choose_span(frames, profile)
    else:
        budget = max_frames_of(profile.window_tokens, profile.frame_tokens)
        newest = await window.newest(camera_id, before_us=heard.now_us, count=recent_count(budget))
        chosen = choose_recent(_readable(newest, profile), now_us=heard.now_us, max_frames=budget)
        span = Span(chosen[0].t_us, heard.now_us) if chosen else recent
        frames = tuple(frame for frame in newest if frame.t_us in span)
    records = await window.records(camera_id, span)
    seen = _judged(heard, span, head, frames=frames, chosen=chosen, records=records)
    if profile is None or not profile.own_world:
        return seen
    around = frames if heard.span is not None else (*frames, *await window.index(camera_id, recent))
    return replace(seen, foreign=len(_readable(around, profile)) < len(around))


async def fetch(
    chosen: Sequence[FrameInfo], window: WindowReader, *, profile: ModelProfile
) -> tuple[StoredFrame, ...] | tuple[FrameInfo, ...]:
    """Return the chosen frames as the model takes them; what is no longer held, or it cannot read, is left out.

    A model that fetches frames by their refs needs no more than the index says; for any other they come whole.
    """
    if profile.reads is Reads.REFS:
        return tuple(chosen)
    frames = await window.fetch([frame.ref for frame in chosen])
    return tuple(frame for frame in frames if _complete(frame, profile))


def _judged(
    heard: Heard,
    span: Span,
    head: Head,
    *,
    frames: tuple[FrameInfo, ...],
    chosen: tuple[FrameInfo, ...],
    records: tuple[Record, ...],
) -> Look:
    seen = _coverage(span, records, head, heard.now_us)
    outcome = outcome_of(seen, head=head, frames=len(frames), now_us=heard.now_us)
    return Look(span, head, frames, chosen, records, seen, outcome)


def _choose_span(frames: Sequence[FrameInfo], profile: ModelProfile) -> tuple[FrameInfo, ...]:
    budget = max_frames_of(profile.window_tokens, profile.frame_tokens)
    return choose_span(_readable(frames, profile), max_frames=budget)


def _readable(frames: Sequence[FrameInfo], profile: ModelProfile) -> list[FrameInfo]:
    """Return the frames that a model can read: all as pictures, those of its own encoder as features or by ref."""
    if profile.reads is Reads.JPEG:
        return list(frames)
    encoded = [frame for frame in frames if frame.tokens > 0 and _encoder(frame) == profile.encoder_version]
    return encoded if profile.reads is Reads.FEATURES else [f for f in encoded if f.grid is not None]


def _encoder(frame: FrameInfo) -> str | None:
    try:
        return split_frame_ref(frame.ref).encoder
    except InvalidFrameRef:
        return None


def _complete(frame: StoredFrame, profile: ModelProfile) -> bool:
    if profile.reads is Reads.JPEG:
        return bool(frame.jpeg)
    return frame.features is not None and frame.features.encoder_version == profile.encoder_version


def _coverage(span: Span, records: Sequence[Record], head: Head, now_us: int) -> Coverage:
    seen = coverage(span, records=records, head=head, now_us=now_us)
    return Coverage(
        asked=span,
        covered=seen.covered,
        static=seen.static,
        gaps=tuple(CoverageGap(gap.span, gap.reason) for gap in seen.gaps),
        evicted_before_us=seen.evicted_before_us,
        last_frame_age_s=None if seen.last_frame_age_us is None else seen.last_frame_age_us / 1_000_000,
    )
