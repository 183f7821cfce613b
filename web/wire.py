"""What travels: the messages of subprotocol ``livelens.v1``, and the pieces they share with ``web.rest``.

Closed and versioned: an unknown field or type is refused, and a change that old clients cannot read is a new
subprotocol. ``docs/api.md`` is the same in words. Values in here are still text and numbers; ``web.present``
makes them from livelens' own values, ``web.accept`` turns them into such.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
)

from core.cameras import CameraState
from core.records import EpochClock, GapReason
from qa.answers import Outcome
from web.times import from_rfc3339, to_rfc3339

SUBPROTOCOL = "livelens.v1"


def _read_time(value: object) -> int:
    if not isinstance(value, str):
        raise ValueError("should be an RFC 3339 time as text")
    return from_rfc3339(value)


def _read_or_keep_time(value: object) -> object:
    return from_rfc3339(value) if isinstance(value, str) else value


_TIME_SCHEMA = WithJsonSchema({"type": "string", "format": "date-time"})

AskedTime = Annotated[int, BeforeValidator(_read_time), _TIME_SCHEMA]
"""A time that somebody sends: RFC 3339 there, µs here."""

Time = Annotated[
    int, BeforeValidator(_read_or_keep_time), PlainSerializer(to_rfc3339, return_type=str), _TIME_SCHEMA
]
"""A time that we send: µs here, RFC 3339 there."""

QuestionId = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,64}$")]
QuestionText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
CameraName = Annotated[str, StringConstraints(max_length=63)]
ConversationName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class Asked(BaseModel):
    """Base of what clients send: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Told(BaseModel):
    """Base of what we send."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


# ---------------------------------------------------------------- from clients


class LastSeconds(Asked):
    """The last so many seconds before now."""

    last_s: float = Field(gt=0, le=366 * 86400)


class FromTo(Asked):
    """``[from, to)``."""

    from_: AskedTime = Field(alias="from")
    to: AskedTime


class AskForm(Asked):
    """A question. Without ``window`` the text says which time is meant; without ``asked_at`` now is now."""

    text: QuestionText
    cameras: list[CameraName] = Field(default=[], max_length=64)
    window: LastSeconds | FromTo | None = None
    asked_at: AskedTime | None = None
    conversation: ConversationName | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=8192)


class AskMessage(AskForm):
    type: Literal["ask"]
    id: QuestionId


class CancelMessage(Asked):
    type: Literal["cancel"]
    id: QuestionId


class ResumeMessage(Asked):
    """Go on with a session whose connection was lost; ``seq`` is the last number received."""

    type: Literal["resume"]
    session: Annotated[str, StringConstraints(max_length=64)]
    seq: int = Field(ge=0)


ClientMessage = AskMessage | CancelMessage | ResumeMessage
CLIENT_TYPES = ("ask", "cancel", "resume")
CLIENT_MESSAGES: TypeAdapter[ClientMessage] = TypeAdapter(
    Annotated[ClientMessage, Field(discriminator="type")]
)


# ---------------------------------------------------------------- shared by replies and messages


class SpanView(Told):
    from_: Time = Field(alias="from")
    to: Time


class CoverageGapView(SpanView):
    reason: GapReason


class CoverageView(Told):
    asked: SpanView
    covered: list[SpanView]
    static: list[SpanView]
    gaps: list[CoverageGapView]
    evicted_before: Time | None
    last_frame_age_s: float | None


class StateView(Told):
    """What a camera does now, with counts since the service started."""

    state: CameraState
    since: Time
    code: str | None
    message: str | None
    clock: EpochClock | None
    reconnects: int
    frames_total: int
    frame_rate: float
    skipped: dict[str, int]
    kept: dict[str, int]
    last_frame_at: Time | None
    last_frame_age_s: float | None
    delay_s: float | None
    codec: str | None
    width_px: int
    height_px: int


# ---------------------------------------------------------------- messages to clients


class ServerMessageBase(Told):
    seq: int = 0


class SessionReady(ServerMessageBase):
    """First of a connection. Resumed: ``seq`` is the number the client named, what was missed follows."""

    type: Literal["session.ready"] = "session.ready"
    session: str
    resumed: bool
    max_message_bytes: int


class AnswerWindowView(SpanView):
    text: str
    zone: str


class UsedFrameView(Told):
    ref: str
    t: Time
    t_us: int
    label: str
    url: str


class CameraSightView(Told):
    """What could be seen of one more camera of a question."""

    camera: str
    window: SpanView
    zone: str
    frames_in_span: int
    coverage: CoverageView


class AnswerStartedMessage(ServerMessageBase):
    """Where a question is about several cameras, ``camera``, zone and ``coverage`` are the first one's."""

    type: Literal["answer.started"] = "answer.started"
    id: str
    camera: str
    conversation: str
    window: AnswerWindowView
    frames: list[UsedFrameView]
    frames_in_span: int
    coverage: CoverageView
    others: list[CameraSightView] = Field(default_factory=list)


class AnswerDeltaMessage(ServerMessageBase):
    type: Literal["answer.delta"] = "answer.delta"
    id: str
    text: str


class CitationView(Told):
    text: str
    offset: int
    t: Time | None
    frame: str | None
    verified: bool


class UsageView(Told):
    prompt_tokens: int
    completion_tokens: int


class TimingsView(Told):
    wait_ms: float
    fetch_ms: float
    prefill_ms: float
    first_word_ms: float
    total_ms: float


class AnswerDoneMessage(ServerMessageBase):
    type: Literal["answer.done"] = "answer.done"
    id: str
    outcome: Outcome
    citations: list[CitationView]
    usage: UsageView
    timings: TimingsView
    frames_used: int
    frames_encoded_now: int
    model: str
    notice: str | None = None


class CameraStateMessage(ServerMessageBase):
    """``state`` is null where the camera was removed."""

    type: Literal["camera.state"] = "camera.state"
    camera: str
    state: StateView | None
    removed: bool = False


class ErrorMessage(ServerMessageBase):
    type: Literal["error"] = "error"
    id: str | None = None
    code: str
    message: str
    retryable: bool


ServerMessage = (
    SessionReady
    | AnswerStartedMessage
    | AnswerDeltaMessage
    | AnswerDoneMessage
    | CameraStateMessage
    | ErrorMessage
)
SERVER_MESSAGES: TypeAdapter[ServerMessage] = TypeAdapter(
    Annotated[ServerMessage, Field(discriminator="type")]
)


def to_json(model: BaseModel) -> str:
    """Return a reply or message as it travels."""
    return model.model_dump_json(by_alias=True)


def message_schema() -> dict[str, Any]:
    """Return the JSON Schema of both directions of the WebSocket, for programs that check."""
    return {
        "subprotocol": SUBPROTOCOL,
        "client": CLIENT_MESSAGES.json_schema(by_alias=True),
        "server": SERVER_MESSAGES.json_schema(by_alias=True, mode="serialization"),
    }
