"""What the model reads: frames behind their labels, notes between them, history, the question last. Pure.

Nothing that differs between two questions about the same frames stands before or between them: notes are of the
records' own times, in one language, so that a kept KV cache of the frames serves the next question.

    "You watch a camera ..." [14:03:05]▣ (Unchanged since 14:03:05.) [14:03:07]▣ ... (It is now 14:03:31.) history question
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from core.ids import CameraId
from core.records import Gap, Record, SceneChange, StaticSpan
from core.spans import Span
from featcache.window import FrameInfo, StoredFrame
from models.chat import SYSTEM_TEXT
from models.decoder import Reads
from models.prompt import FramePart, Part, Prompt, TextPart, Turn
from qa.answers import Language, UsedFrame
from qa.labels import crosses_midnight, local_time, time_label
from qa.wording import gap_reason

Frame = StoredFrame | FrameInfo
"""A frame whole, or as the index tells it, for decoders that fetch it by its ref."""

STATIC_KNOWN_US = 2_000_000
"""A static span is known so long after its start; its note stands there, so that it never moves later."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a question is asked in: the span looked at, its camera's zone, now, and what was recorded.

    ``camera`` is named in labels and notes where there are several.
    """

    span: Span
    zone: ZoneInfo
    now_us: int
    records: tuple[Record, ...] = ()
    camera: CameraId | None = None


def label_of(t_us: int, span: Span, zone: ZoneInfo, *, tenths: bool) -> str:
    """Return a frame's label; the date stands in it where the span crosses midnight."""
    return time_label(t_us, zone, tenths=tenths, dated=crosses_midnight(span, zone))


def used_frames(
    frames: Sequence[Frame], span: Span, zone: ZoneInfo, camera: CameraId | None = None
) -> tuple[UsedFrame, ...]:
    """Return frames as answers show them; ``camera`` is named in their labels."""
    dated = crosses_midnight(span, zone)
    return tuple(
        UsedFrame(
            frame.ref,
            frame.t_us,
            time_label(frame.t_us, zone, tenths=frame.tenths, dated=dated, camera=camera),
        )
        for frame in frames
    )


def build_prompt(
    question: str,
    frames: Sequence[Frame],
    *,
    setting: Setting,
    reads: Reads,
    history: Sequence[Turn] = (),
) -> Prompt:
    """Return the prompt of one question about one camera.

    Args:
        frames: The frames chosen, oldest first; whole, but where ``reads`` says refs. Each with features where it
            says features.
    """
    return build_prompt_of([(setting, frames)], question, whole=setting, reads=reads, history=history)


def build_prompt_of(
    groups: Sequence[tuple[Setting, Sequence[Frame]]],
    question: str,
    *,
    whole: Setting,
    reads: Reads,
    history: Sequence[Turn] = (),
) -> Prompt:
    """Return the prompt of one question: camera by camera the frames and notes, then what time it is about.

    Args:
        groups: Each camera's setting and frames, as in ``build_prompt``.
        whole: The time that the question is about, in the zone that it is asked in.
    """
    parts: list[Part] = []
    for setting, frames in groups:
        parts.extend(_shown(setting, frames, reads))
    parts.append(TextPart(bounds_text(whole)))
    return Prompt(SYSTEM_TEXT, tuple(parts), question, tuple(history))


def _shown(setting: Setting, frames: Sequence[Frame], reads: Reads) -> list[Part]:
    """Return one camera's frames behind their labels, with its notes between them."""
    notes = sorted(_notes(setting), key=lambda note: note[0])
    dated = crosses_midnight(setting.span, setting.zone)
    parts: list[Part] = []
    for frame in frames:
        while notes and notes[0][0] <= frame.t_us:
            parts.append(TextPart(notes.pop(0)[1]))
        label = time_label(frame.t_us, setting.zone, tenths=frame.tenths, dated=dated, camera=setting.camera)
        parts.append(_part(label, frame, reads))
    parts.extend(TextPart(text) for _, text in notes)
    return parts


def _part(label: str, frame: Frame, reads: Reads) -> FramePart:
    """Return a frame as a decoder reads it."""
    if isinstance(frame, FrameInfo):
        return FramePart(label, frame.ref, grid=frame.grid)
    if reads is Reads.JPEG:
        return FramePart(label, frame.ref, jpeg=frame.jpeg)
    grid = frame.features.grid if frame.features else None
    return FramePart(label, frame.ref, features=frame.features, grid=grid)


def fit_history(turns: Sequence[Turn], *, max_turns: int, max_chars: int) -> tuple[Turn, ...]:
    """Return the newest turns, oldest first, that fit both limits."""
    kept: list[Turn] = []
    for turn in reversed(turns[-max_turns:] if max_turns else ()):
        max_chars -= len(turn.question) + len(turn.answer)
        if max_chars < 0:
            break
        kept.append(turn)
    return tuple(reversed(kept))


def _notes(setting: Setting) -> list[tuple[int, str]]:
    """Return each note with the time from which on it holds; it stands before the first frame from then."""
    found: list[tuple[int, str]] = []
    for record in setting.records:
        start = _clock(record.start_us, setting)
        if isinstance(record, StaticSpan):
            found.append((record.start_us + STATIC_KNOWN_US, f"(Unchanged since {start}.)"))
        elif isinstance(record, Gap):
            why = gap_reason(record.reason, Language.EN)
            end = None if record.end_us is None else _clock(record.end_us, setting)
            text = (
                f"(No picture since {start}: {why}.)"
                if end is None
                else f"(No picture from {start} to {end}: {why}.)"
            )
            found.append((record.start_us, text))
        elif isinstance(record, SceneChange):
            found.append(
                (record.start_us, f"({str(record.kind).replace('_', ' ').capitalize()} at {start}.)")
            )
    if setting.camera is None:
        return found
    return [(t_us, f"({setting.camera}: {text[1].lower()}{text[2:]}") for t_us, text in found]


def bounds_text(setting: Setting) -> str:
    """Return the note that ends the frames: what time it is, and what the question is about."""
    now = _clock(setting.now_us, setting, to_second=True)
    start, end = (
        _clock(t_us, setting, to_second=True) for t_us in (setting.span.start_us, setting.span.end_us)
    )
    return f"(It is now {now}. The question is about {start} to {end}.)"


def _clock(t_us: int, setting: Setting, *, to_second: bool = False) -> str:
    at = local_time(t_us, setting.zone)
    dated = crosses_midnight(setting.span, setting.zone) or (
        to_second and at.date() != local_time(setting.now_us, setting.zone).date()
    )
    return f"{at:%Y-%m-%d %H:%M:%S}" if dated else f"{at:%H:%M:%S}"
