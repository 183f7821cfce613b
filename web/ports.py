"""What the edges need from the rest of livelens. The root hands implementations over; tests hand fakes."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

from core.cameras import Camera, ProbeReport, Source, StateReport, Transport
from core.channel import Channel
from core.clock import Clock
from core.ids import CameraId, IdSource
from core.meter import Meter
from featcache.window import WindowReader
from qa.answers import Answer, Question
from qa.chat_values import ChatModel, ChatQuestion, ChatValue


@dataclass(frozen=True, slots=True)
class NewCamera:
    """What a registration says."""

    id: CameraId
    name: str
    source: Source
    zone: ZoneInfo
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class CameraPatch:
    """What an update changes; None leaves a field as it is."""

    name: str | None = None
    source: Source | None = None
    zone: ZoneInfo | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """A camera's state with its counters.

    Attributes:
        kept: Frames kept since the process began, by reason.
        frame_rate: Frames per second over the last few seconds.
        delay_s: How long the newest sample took from its stream time into the window; None before the first.
        answered_by: Who answers questions about it: ``measured`` or a model's name.
    """

    report: StateReport
    kept: tuple[tuple[str, int], ...]
    frame_rate: float
    delay_s: float | None
    answered_by: str


class CameraRegistry(Protocol):
    """Registers cameras and runs them."""

    def list(self) -> tuple[Camera, ...]:
        """Return all cameras by id."""

    def get(self, camera_id: CameraId) -> Camera:
        """Return one. Raises UnknownCamera."""

    def status(self, camera_id: CameraId) -> CameraStatus:
        """Return what one is doing. Raises UnknownCamera."""

    async def add(self, new: NewCamera) -> Camera:
        """Register one and start it. Raises CameraExists, SourceRefused."""

    async def update(self, camera_id: CameraId, patch: CameraPatch) -> Camera:
        """Change one; a changed source is connected anew. Raises UnknownCamera, SourceRefused."""

    async def remove(self, camera_id: CameraId) -> int:
        """Stop one and delete every trace of it, within 2 s in every state; return how many frames went."""

    async def probe(self, source: Source) -> ProbeReport:
        """Look at a source without registering it. Raises SourceRefused for addresses not allowed."""

    def changes(self) -> AbstractAsyncContextManager[Channel[tuple[CameraId, CameraStatus | None]]]:
        """Open a stream of state changes; None means removed. A slow reader loses the oldest."""


class Preview(Protocol):
    """Pictures for people, encoded once for everybody who watches."""

    async def latest(self, camera_id: CameraId) -> bytes | None:
        """Return the newest picture as JPEG, at most 640 px wide; None before the first."""

    def watch(self, camera_id: CameraId) -> AsyncIterator[bytes]:
        """Yield JPEG pictures, at most 640 px wide and 5 per second, until closed. Raises UnknownCamera."""


class Asker(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> AsyncIterator[Answer]:
        """Stream one answer: AnswerStarted, AnswerDelta ..., AnswerDone. Closing it early aborts the request.

        Raises a ServiceError before the first value where the question cannot be answered at all.
        """


class Chat(Protocol):
    """Answers dialogues about pictures that people send."""

    def models(self) -> tuple[ChatModel, ...]:
        """Return who answers here; may be nobody."""

    def chat(self, question: ChatQuestion) -> AsyncIterator[ChatValue]:
        """Stream one answer: ChatPiece ..., ChatDone. Closing it early aborts the request.

        Raises a ServiceError, mostly before the first value.
        """


class Readiness(Protocol):
    """Knows whether the service can do its work."""

    def parts(self) -> dict[str, bool]:
        """Return each part by name, True where it works."""

    def details(self) -> dict[str, str]:
        """Return what there is to say of a part, in words; parts of which there is nothing to say are left out."""

    def ready(self) -> bool:
        """Return whether questions can be answered now (degraded answers included)."""


class SourceParser(Protocol):
    """Makes a source of what somebody typed."""

    def __call__(
        self, url: str, *, username: str | None, password: str | None, transport: Transport, loop: bool
    ) -> Source:
        """Return the source, with a login inside ``url`` moved into its credentials.

        Raises a ServiceError, without the password in its text, where the address cannot be read from.
        """


class MetricsExporter(Protocol):
    """Writes down everything measured."""

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format 0.0.4."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything the edges use of the rest of livelens.

    Attributes:
        default_zone: For cameras registered without one.
        retention_us: How long frames and records are kept at most; None where nobody says.
    """

    registry: CameraRegistry
    window: WindowReader
    preview: Preview
    asker: Asker
    chat: Chat
    readiness: Readiness
    parse_source: SourceParser
    exporter: MetricsExporter
    meter: Meter
    clock: Clock
    ids: IdSource
    default_zone: ZoneInfo
    retention_us: int | None = None
