"""Packs many questions about the same frames into one row of tokens, so that the frames are computed once. Pure.

What the questions share stands first; each conversation, mostly one question with its answer, follows as a group that
sees the shared part and itself only, at the positions it would have alone. So every group computes exactly what
serving computes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.questions import AskedQuestion
from models.chat import SYSTEM_TEXT, Cells, ChatTokens, PlacedFrame, Rendered, TextEncoder, render
from models.prompt import Part, Prompt, Turn

NOT_WANTED = -100


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One row of a batch.

    Attributes:
        ids, groups: int64 (n,): tokens; 0 for the shared part, else the number of the conversation.
        wanted, asked: int64 (n,): the token that has to come next, or NOT_WANTED outside answers; the number of the
            question, from 1 on, that the token answers.
        positions: int64 (3, n), rotary positions.
        frames: Where the frames are in the shared part.
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    groups: NDArray[np.int64]
    asked: NDArray[np.int64]
    wanted: NDArray[np.int64]
    frames: tuple[PlacedFrame, ...]


def pack(
    parts: Sequence[Part],
    conversations: Sequence[Sequence[AskedQuestion]],
    cells: Sequence[Cells],
    *,
    text: TextEncoder,
    tokens: ChatTokens,
) -> PackedRow:
    """Return conversations about the same parts as one row; group n is conversation n - 1, questions count through."""
    talks = [_talk(parts, talk, cells, text=text, tokens=tokens) for talk in conversations]
    shared = _shared([talk.row.ids for talk in talks], min(talk.answers[0].start for talk in talks) - 1)
    first = talks[0].row
    ids, positions = [first.ids[:shared]], [first.positions[:, :shared]]
    groups, asked = [np.zeros(shared, np.int64)], [np.zeros(shared, np.int64)]
    wanted = [np.full(shared, NOT_WANTED, np.int64)]
    count = 0
    for number, talk in enumerate(talks, start=1):
        end = talk.answers[-1].stop - 1  # the last answer's end token is wanted, never read
        wants, asks = np.full(end, NOT_WANTED, np.int64), np.zeros(end, np.int64)
        for answer in talk.answers:
            count += 1
            wants[answer.start - 1 : answer.stop - 1] = talk.row.ids[answer]
            asks[answer.start - 1 : answer.stop - 1] = count
        ids.append(talk.row.ids[shared:end])
        positions.append(talk.row.positions[:, shared:end])
        groups.append(np.full(end - shared, number, np.int64))
        asked.append(asks[shared:])
        wanted.append(wants[shared:])
    return PackedRow(
        np.concatenate(ids),
        np.concatenate(positions, axis=1),
        np.concatenate(groups),
        np.concatenate(asked),
        np.concatenate(wanted),
        first.frames,
    )


class _Talk(NamedTuple):
    row: Rendered
    answers: list[slice]


def _talk(
    parts: Sequence[Part],
    talk: Sequence[AskedQuestion],
    cells: Sequence[Cells],
    *,
    text: TextEncoder,
    tokens: ChatTokens,
) -> _Talk:
    """Return one conversation as tokens, and where in it its answers stand, end tokens included."""
    turns: list[Turn] = []
    answers: list[slice] = []
    for question in talk:
        turns += question.history
        prompt = Prompt(SYSTEM_TEXT, tuple(parts), question.text, tuple(turns))
        start = render(prompt, cells, text=text, tokens=tokens).tokens
        answers.append(slice(start, start + len(text.encode(question.answer)) + 1))
        turns.append(Turn(question.text, question.answer))
    return _Talk(render(prompt, cells, text=text, tokens=tokens, answer=question.answer), answers)


def _shared(rows: Sequence[NDArray[np.int64]], most: int) -> int:
    """Return how many tokens all rows begin with in common, at most ``most``."""
    first = rows[0][:most]
    same = np.ones(first.shape[0], dtype=bool)
    for row in rows[1:]:
        same &= row[: first.shape[0]] == first
    return first.shape[0] if same.all() else int(same.argmin())
