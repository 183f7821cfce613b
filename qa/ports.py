"""What asking needs from the rest of livelens. The root hands it over; tests hand fakes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from zoneinfo import ZoneInfo

from core.cameras import Camera
from core.clock import Clock
from core.ids import CameraId, ConversationId, FrameRef, IdSource, RequestId
from core.meter import Meter, NullMeter
from core.records import Record
from core.spans import Span
from featcache.window import FrameInfo, WindowReader
from models.decoder import Decoder
from qa.answers import Coverage, Language
from store.conversations import StoredTurn

MEASURED = "measured"
"""The name under which the measured answer signs."""


class Cameras(Protocol):
    """Knows the registered cameras."""

    def list(self) -> tuple[Camera, ...]:
        """Return all cameras by id."""

    def get(self, camera_id: CameraId) -> Camera:
        """Return one. Raises UnknownCamera."""


class Conversations(Protocol):
    """Keeps what was asked and answered."""

    async def append(self, turn: StoredTurn) -> None:
        """Store one more turn; a conversation begins with its first."""

    async def last(self, conversation: ConversationId, *, count: int = 8) -> tuple[StoredTurn, ...]:
        """Return the newest turns, oldest first. Raises UnknownConversation."""


class DatedRef(Protocol):
    """A frame by its ref and time."""

    @property
    def ref(self) -> FrameRef: ...
    @property
    def t_us(self) -> int: ...


class Measured(Protocol):
    """An answer in sentences, from what was measured, with the frames that its sentences name."""

    @property
    def sentences(self) -> Sequence[str]: ...
    @property
    def frames(self) -> Sequence[DatedRef]: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a span without looking at a picture.

    Attributes:
        frames: The frames that the answer may name, oldest first.
        dated: Labels carry the date.
        text: The question.
    """

    span: Span
    zone: ZoneInfo
    now_us: int
    records: tuple[Record, ...]
    frames: tuple[FrameInfo, ...]
    coverage: Coverage
    dated: bool
    text: str = ""


WordMeasured = Callable[[Evidence, Language], Measured]
"""Words an answer from evidence alone; pure."""

DecoderSource = Callable[[], Decoder | None]
"""Gives the decoder of the moment; None where no model is named, or it is still loading."""

EncodedFor = Callable[[RequestId], int]
"""Counts the frames that the vision encoder has seen for one question."""


def nothing_encoded(_request: RequestId) -> int:
    """Count for services without an encoder that works for questions."""
    return 0


@dataclass(frozen=True, slots=True)
class AskParts:
    """Everything that asking needs.

    Attributes:
        encoded_for: Read before and after an answer; the difference is what it had encoded.
    """

    window: WindowReader
    cameras: Cameras
    conversations: Conversations
    decoder: DecoderSource
    word_measured: WordMeasured
    clock: Clock
    meter: Meter = field(default_factory=NullMeter)
    ids: IdSource = field(default_factory=IdSource)
    encoded_for: EncodedFor = nothing_encoded
