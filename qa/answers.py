"""A question, and the stream of values that answers it."""

from dataclasses import dataclass, field
from enum import StrEnum

from core.ids import CameraId, ConversationId, FrameRef, RequestId
from core.records import GapReason
from core.spans import Span


class Language(StrEnum):
    """Languages that questions are understood in and sentences are worded in."""

    EN = "en"
    ZH = "zh"


@dataclass(frozen=True, slots=True)
class LastWindow:
    """An explicit window: the last so many µs before now."""

    last_us: int


ExplicitWindow = LastWindow | Span


@dataclass(frozen=True, slots=True)
class Question:
    """One question, as accepted at an edge.

    Attributes:
        received_us: Service time when the server received it.
        asked_at_us: What the asker says "now" is; None means ``received_us``. At most 5 s ahead of it.
        window: An explicit window; None lets the text say it.
        conversation: A follow-up inherits cameras and span from the conversation's last turn.
    """

    id: RequestId
    text: str
    received_us: int
    cameras: tuple[CameraId, ...] = ()
    window: ExplicitWindow | None = None
    asked_at_us: int | None = None
    conversation: ConversationId | None = None
    max_tokens: int | None = None


class Outcome(StrEnum):
    """How an answer came out. All of them are answers with a sentence."""

    OK = "ok"
    EMPTY = "empty"  # nothing is held of that span
    FUTURE = "future"  # the span has not begun
    TOO_OLD = "too_old"  # the span has aged out of the window
    GAP_ONLY = "gap_only"  # the camera was away all the while
    SHORTENED = "shortened"  # stopped at max_tokens, or cut by a failing engine
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class CoverageGap:
    """A part of the asked span without frames, and why."""

    span: Span
    reason: GapReason


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of the asked span could be seen.

    Attributes:
        covered: Parts in which the camera was watched.
        static: Parts in which nothing moved.
        evicted_before_us: Before this time nothing is held any more; None if nothing aged out.
        last_frame_age_s: Age of the camera's newest frame at the time of asking; None without any.
    """

    asked: Span
    covered: tuple[Span, ...]
    static: tuple[Span, ...]
    gaps: tuple[CoverageGap, ...]
    evicted_before_us: int | None
    last_frame_age_s: float | None


@dataclass(frozen=True, slots=True)
class CameraSight:
    """What could be seen of one more camera of a question."""

    camera_id: CameraId
    window: Span
    zone: str
    frames_in_span: int
    coverage: Coverage


@dataclass(frozen=True, slots=True)
class UsedFrame:
    """A frame that the answer looked at."""

    ref: FrameRef
    t_us: int
    label: str


@dataclass(frozen=True, slots=True)
class Citation:
    """A time named in the answer. ``offset`` counts characters from the answer's start.

    ``frame`` is the frame it was checked against; None with ``verified`` False.
    """

    text: str
    offset: int
    t_us: int | None
    frame: FrameRef | None
    verified: bool


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds from acceptance; each stage's own length but for the last two, which count from the start."""

    wait_ms: float = 0.0
    fetch_ms: float = 0.0
    prefill_ms: float = 0.0
    first_word_ms: float = 0.0
    total_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class AnswerStarted:
    """First of the stream: what will be looked at. ``window_text`` states span, zone and offset for people.

    ``frames_in_span`` counts the frames held of the span, of which ``frames`` were chosen. Where a question is about
    several cameras, ``window`` and both counts are of all of them, ``coverage`` and ``zone`` of the first, and
    ``others`` tells of the rest.
    """

    id: RequestId
    camera_id: CameraId
    conversation: ConversationId
    window: Span
    window_text: str
    zone: str
    frames: tuple[UsedFrame, ...]
    frames_in_span: int
    coverage: Coverage
    others: tuple[CameraSight, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerDelta:
    """Some more words."""

    id: RequestId
    text: str


@dataclass(frozen=True, slots=True)
class AnswerDone:
    """Last of the stream. ``model`` names who answered, ``measured`` for the measured answer."""

    id: RequestId
    outcome: Outcome
    citations: tuple[Citation, ...]
    usage: AnswerUsage
    timings: Timings
    frames_used: int
    frames_encoded_now: int
    model: str
    notice: str | None = None
    text: str = field(default="", repr=False)


Answer = AnswerStarted | AnswerDelta | AnswerDone
