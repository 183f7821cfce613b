"""A dialogue about pictures, as accepted at an edge, and the stream of values that answers it."""

from dataclasses import dataclass, field

from core.ids import RequestId
from models.decoder import Finish, Usage
from models.prompt import Role, TextPart


@dataclass(frozen=True, slots=True)
class SentPicture:
    """The bytes of a picture file that somebody sent; nothing is known of them yet."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message, pictures and words in their order."""

    role: Role
    parts: tuple[SentPicture | TextPart, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def pictures(self) -> tuple[SentPicture, ...]:
        return tuple(part for part in self.parts if isinstance(part, SentPicture))


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """A dialogue whose last message wants an answer.

    Attributes:
        model: Who is asked; it must be who answers here.
        max_tokens: None lets the settings say.
        temperature, top_p, seed, stop: As in ``models.decoder.SamplingParams``.
    """

    id: RequestId
    model: str
    messages: tuple[SentMessage, ...]
    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatPiece:
    """Some more of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatDone:
    """The end of an answer. ``usage`` is None where the model's server told none; ``notice`` is for people."""

    finish: Finish
    usage: Usage | None = None
    notice: str | None = None


ChatValue = ChatPiece | ChatDone


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model that answers here, and since when (service time, µs)."""

    name: str
    since_us: int
