"""What a decoder is asked: one prompt, made of labelled frames, text, history and the question."""

from dataclasses import dataclass

from core.frames import Features
from core.ids import FrameRef


@dataclass(frozen=True, slots=True)
class FramePart:
    """One frame behind its time label, such as ``[14:03:05]``.

    ``features`` are there for decoders that read the window's features, ``jpeg`` for those that read pictures.
    """

    label: str
    ref: FrameRef
    features: Features | None = None
    jpeg: bytes | None = None


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
