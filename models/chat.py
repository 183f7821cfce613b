"""How a prompt becomes tokens: system text, labels, template, positions. Pure, for training and serving alike.

The order is fixed, so that a kept KV cache of the frames serves the next question: system, frames oldest to
newest each behind its label, history, question last.

    <|im_start|>system⏎ … <|im_end|>⏎<|im_start|>user⏎
    [14:03:05]<|vision_start|><|image_pad|>×n<|vision_end|> … ⏎first question<|im_end|>⏎
    <|im_start|>assistant⏎first answer<|im_end|>⏎<|im_start|>user⏎question<|im_end|>⏎<|im_start|>assistant⏎

Text from people, labels included, is tokenised by a ``TextEncoder`` that knows no special tokens, so whatever
anybody writes stays text.

A dialogue is rendered message by message, each picture where it stands among the words.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from core.ids import FrameRef
from models.prompt import Dialogue, FramePart, PicturePart, Prompt, Role, TextPart

SYSTEM_TEXT = (
    "You watch a camera. You are shown some of its pictures, oldest first, each right after the time it was taken, "
    "such as [14:03:05]. Say what the pictures show. When you name a time, copy it from a label, brackets included. "
    "What you cannot see in the pictures you have not seen: say so, and never guess. "
    "Answer briefly, in the language of the question."
)
"""What every question about a camera begins with; the same always, so that it is never computed twice."""


class TextEncoder(Protocol):
    """Turns text into token ids, and nothing in it into a special token."""

    def encode(self, text: str) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class ChatTokens:
    """Ids of the special tokens of the family's template."""

    im_start: int
    im_end: int
    vision_start: int
    vision_end: int
    image_pad: int


class Cells(NamedTuple):
    """A frame's vision tokens as the decoder sees them: rows and columns of merged patches."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class PlacedFrame:
    """A frame in the token row: ``tokens`` image tokens from ``start`` on."""

    ref: FrameRef
    cells: Cells
    start: int

    @property
    def tokens(self) -> int:
        return self.cells.rows * self.cells.columns

    @property
    def end(self) -> int:
        return self.start + self.tokens


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as tokens.

    Attributes:
        ids: Token ids, shape (n,), int64.
        positions: Rotary positions, shape (3, n), int64: time, row, column.
        next_position: The position of the first token of the answer; less than n where frames are.
        frames: Where the frames are, in order.
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    next_position: int
    frames: tuple[PlacedFrame, ...]

    @property
    def tokens(self) -> int:
        return int(self.ids.shape[0])

    @property
    def vision_tokens(self) -> int:
        return sum(frame.tokens for frame in self.frames)

    @property
    def stem(self) -> int:
        """Return how many tokens, up to the end of the last frame, questions on these frames share."""
        return self.frames[-1].end + 1 if self.frames else 0


def render(
    prompt: Prompt | Dialogue,
    cells: Sequence[Cells],
    *,
    text: TextEncoder,
    tokens: ChatTokens,
    answer: str | None = None,
) -> Rendered:
    """Return a prompt as tokens.

    Args:
        cells: Rows and columns of each frame of ``prompt.frames``, in order.
        answer: For training: the wanted answer with its end token, after the prompt.
    """
    row = _Row(text, tokens)
    match prompt:
        case Prompt():
            _render_question(row, prompt, iter(cells))
        case Dialogue():
            _render_dialogue(row, prompt, iter(cells))
    row.open_turn(Role.ASSISTANT)
    if answer is not None:
        row.text(answer)
        row.close_turn()
    return row.finish()


def _render_question(row: "_Row", prompt: Prompt, sizes: Iterator[Cells]) -> None:
    row.turn(Role.SYSTEM, prompt.system)
    row.open_turn(Role.USER)
    for part in prompt.parts:
        match part:
            case FramePart():
                row.text(part.label)
                row.picture(part.ref, next(sizes))
            case TextPart():
                row.text(f"\n{part.text}\n")
    if prompt.parts:
        row.text("\n")
    for turn in prompt.history:
        row.text(turn.question)
        row.close_turn()
        row.turn(Role.ASSISTANT, turn.answer)
        row.open_turn(Role.USER)
    row.text(prompt.question)
    row.close_turn()


def _render_dialogue(row: "_Row", dialogue: Dialogue, sizes: Iterator[Cells]) -> None:
    for message in dialogue.messages:
        row.open_turn(message.role)
        for part in message.parts:
            match part:
                case PicturePart():
                    row.picture(part.ref, next(sizes))
                case TextPart():
                    row.text(part.text)
        row.close_turn()


def count_text_tokens(texts: Iterable[str], *, text: TextEncoder) -> int:
    """Return how many tokens some texts take; frames and template are not counted."""
    return sum(len(text.encode(piece)) for piece in texts)


def image_positions(start: int, cells: Cells) -> NDArray[np.int64]:
    """Return the rotary positions of one picture that begins at position ``start``, shape (3, tokens).

    Time stands still, rows and columns count up from ``start``.
    Source: Qwen2-VL (arXiv 2409.12191), multimodal rotary position embedding, for a picture of one time step.
    """
    rows, columns = np.indices(cells, dtype=np.int64).reshape(2, -1)
    return np.stack([np.zeros_like(rows), rows, columns]) + start


class _Row:
    """Grows ids and positions side by side. Texts with nothing between them are tokenised as one, as a server does
    that renders a chat template first; a token may span where they meet."""

    def __init__(self, text: TextEncoder, tokens: ChatTokens) -> None:
        self._encode = text.encode
        self._tokens = tokens
        self._ids: list[int] = []
        self._positions: list[NDArray[np.int64]] = []
        self._position = 0
        self._frames: list[PlacedFrame] = []
        self._texts: list[str] = []

    def open_turn(self, role: Role) -> None:
        self._special(self._tokens.im_start)
        self.text(f"{role}\n")

    def close_turn(self) -> None:
        self._special(self._tokens.im_end)
        self.text("\n")

    def turn(self, role: Role, text: str) -> None:
        self.open_turn(role)
        self.text(text)
        self.close_turn()

    def text(self, text: str) -> None:
        self._texts.append(text)

    def picture(self, ref: FrameRef, cells: Cells) -> None:
        self._special(self._tokens.vision_start)
        placed = PlacedFrame(ref, cells, len(self._ids))
        self._frames.append(placed)
        self._ids.extend([self._tokens.image_pad] * placed.tokens)
        self._positions.append(image_positions(self._position, cells))
        self._position += max(cells)
        self._special(self._tokens.vision_end)

    def finish(self) -> Rendered:
        self._flush()
        ids = np.array(self._ids, dtype=np.int64)
        return Rendered(ids, np.concatenate(self._positions, axis=1), self._position, tuple(self._frames))

    def _special(self, token: int) -> None:
        self._flush()
        self._add((token,))

    def _flush(self) -> None:
        if self._texts:
            self._add(self._encode("".join(self._texts)))
            self._texts.clear()

    def _add(self, ids: Sequence[int]) -> None:
        self._ids.extend(ids)
        steps = np.arange(self._position, self._position + len(ids), dtype=np.int64)
        self._positions.append(np.broadcast_to(steps, (3, len(ids))))
        self._position += len(ids)
