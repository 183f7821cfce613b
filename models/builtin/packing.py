"""Packs many questions about the same frames into one row of tokens, so that the frames are computed once. Pure.

What the questions share stands first; each question with its answer follows as a group that sees the shared part and
itself only, at the positions it would have alone. So every group computes exactly what serving computes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.builtin.questions import AskedQuestion
from models.chat import SYSTEM_TEXT, Cells, ChatTokens, PlacedFrame, Rendered, TextEncoder, render
from models.prompt import Part, Prompt

NOT_WANTED = -100


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One row of a batch.

    Attributes:
        ids, groups, wanted: int64 (n,): tokens; 0 for the shared part, else the number of the group; the token that
            has to come next, or NOT_WANTED outside answers.
        positions: int64 (3, n), rotary positions.
        frames: Where the frames are in the shared part.
    """

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    groups: NDArray[np.int64]
    wanted: NDArray[np.int64]
    frames: tuple[PlacedFrame, ...]


def pack(
    parts: Sequence[Part],
    questions: Sequence[AskedQuestion],
    cells: Sequence[Cells],
    *,
    text: TextEncoder,
    tokens: ChatTokens,
) -> PackedRow:
    """Return questions about the same parts as one row; group n is question n - 1."""
    whole: list[Rendered] = []
    starts: list[int] = []
    for question in questions:
        prompt = Prompt(SYSTEM_TEXT, tuple(parts), question.text, question.history)
        starts.append(render(prompt, cells, text=text, tokens=tokens).tokens)
        whole.append(render(prompt, cells, text=text, tokens=tokens, answer=question.answer))
    shared = _shared([row.ids for row in whole], min(starts) - 1)
    ids, positions = [whole[0].ids[:shared]], [whole[0].positions[:, :shared]]
    groups, wanted = [np.zeros(shared, np.int64)], [np.full(shared, NOT_WANTED, np.int64)]
    for number, (row, start) in enumerate(zip(whole, starts, strict=True), start=1):
        end = row.tokens - 1  # what stands behind the answer's end token is never asked of the model
        wants = np.full(end - shared, NOT_WANTED, np.int64)
        wants[start - 1 - shared : -1] = row.ids[start:end]
        last = int(np.flatnonzero(wants != NOT_WANTED)[-1]) + 1
        ids.append(row.ids[shared : shared + last])
        positions.append(row.positions[:, shared : shared + last])
        groups.append(np.full(last, number, np.int64))
        wanted.append(wants[:last])
    return PackedRow(
        np.concatenate(ids),
        np.concatenate(positions, axis=1),
        np.concatenate(groups),
        np.concatenate(wanted),
        whole[0].frames,
    )


def may_see(groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which token (row) may see which (column), shape (n, n)."""
    earlier = np.tri(groups.shape[0], dtype=bool)
    return np.asarray(earlier & ((groups[None, :] == 0) | (groups[None, :] == groups[:, None])))


def _shared(rows: Sequence[NDArray[np.int64]], most: int) -> int:
    """Return how many tokens all rows begin with in common, at most ``most``."""
    first = rows[0][:most]
    same = np.ones(first.shape[0], dtype=bool)
    for row in rows[1:]:
        same &= row[: first.shape[0]] == first
    return first.shape[0] if same.all() else int(same.argmin())
