"""What a decoder is asked: a question about a camera, or a dialogue about pictures that somebody sent.

A ``Prompt`` is made of labelled frames, text, history and the question; a ``Dialogue`` of messages as they were
written, pictures among the words.
"""

from dataclasses import dataclass
from enum import StrEnum

from core.frames import Features
from core.ids import FrameRef


@dataclass(frozen=True, slots=True)
class FramePart:
    """One frame behind its time label, such as ``[14:03:05]``.

    ``features`` are there for decoders that read the window's features, ``jpeg`` for those that read pictures;
    ``grid``, as in ``Features``, for those that fetch a frame by its ref.
    """

    label: str
    ref: FrameRef
    features: Features | None = None
    jpeg: bytes | None = None
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text between frames, such as "unchanged since 14:01:20"."""

    text: str


Part = FramePart | TextPart


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier question of the conversation with its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything the decoder reads, in this order: system, parts, history, question.

    Nothing that differs between questions stands before the frames, so that a kept KV cache of the frames
    can serve the next question.
    """

    system: str
    parts: tuple[Part, ...]
    question: str
    history: tuple[Turn, ...] = ()

    @property
    def frames(self) -> tuple[FramePart, ...]:
        return tuple(part for part in self.parts if isinstance(part, FramePart))


@dataclass(frozen=True, slots=True)
class PicturePart:
    """A picture without a label, as somebody sent it.

    ``ref`` names its content, so that the same picture in a later dialogue is the same prefix; ``features`` and
    ``jpeg`` are as in ``FramePart``.
    """

    ref: FrameRef
    features: Features | None = None
    jpeg: bytes | None = None


class Role(StrEnum):
    """Who speaks in a dialogue."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """What one side said, pictures and words in their order."""

    role: Role
    parts: tuple[PicturePart | TextPart, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Messages, oldest first; the last one is the user's. Nothing is added to them, and nothing left out."""

    messages: tuple[Message, ...]

    @property
    def frames(self) -> tuple[PicturePart, ...]:
        """Return all pictures, in order."""
        return tuple(
            part for message in self.messages for part in message.parts if isinstance(part, PicturePart)
        )
