"""The whole model in training: packed rows in, losses and right answers out. Needs torch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.builtin.packing import NOT_WANTED, PackedRow, may_see
from models.builtin.tower import Seen
from models.compute import look_at_hardware


class LanguageBatch(NamedTuple):
    """Packed rows side by side, padded at the end: ``ids``, ``wanted``, ``groups`` (rows, n), ``positions`` (3, rows,
    n), ``seeing`` bool (rows, 1, n, n), ``pictures`` bool (rows, n)."""

    ids: Tensor
    wanted: Tensor
    groups: Tensor
    positions: Tensor
    seeing: Tensor
    pictures: Tensor


def batch_of(rows: Sequence[PackedRow]) -> LanguageBatch:
    """Return rows as one batch."""
    count, longest = len(rows), max(row.ids.shape[0] for row in rows)
    ids, groups = np.zeros((count, longest), np.int64), np.full((count, longest), -1, np.int64)
    wanted, positions = (
        np.full((count, longest), NOT_WANTED, np.int64),
        np.zeros((3, count, longest), np.int64),
    )
    seeing = np.broadcast_to(np.eye(longest, dtype=bool), (count, 1, longest, longest)).copy()
    pictures = np.zeros((count, longest), bool)
    for number, row in enumerate(rows):
        length = row.ids.shape[0]
        ids[number, :length], groups[number, :length], wanted[number, :length] = (
            row.ids,
            row.groups,
            row.wanted,
        )
        positions[:, number, :length] = row.positions
        seeing[number, 0, :length, :length] = may_see(row.groups)
        for frame in row.frames:
            pictures[number, frame.start : frame.end] = True
    return LanguageBatch(
        *(torch.from_numpy(part) for part in (ids, wanted, groups, positions, seeing, pictures))
    )


def read(model: Any, batch: LanguageBatch, seen: Sequence[Seen]) -> tuple[Tensor, Tensor]:
    """Return what the model says at each wanted place, as scores (wanted, vocabulary), and what is wanted (wanted,).

    Args:
        model: A ``Qwen3VLForConditionalGeneration``.
        seen: The vision tokens of each row's frames, in the order of rows.
    """
    text = model.model.language_model
    pooled = torch.cat([row.pooled.flatten(0, 1) for row in seen])
    layers = len(seen[0].deep)
    deep = [torch.cat([row.deep[layer].flatten(0, 1) for row in seen]) for layer in range(layers)]
    embedded = text.embed_tokens(batch.ids)
    embedded = embedded.masked_scatter(batch.pictures[:, :, None], pooled.to(embedded.dtype))
    hidden = text(
        inputs_embeds=embedded,
        position_ids=batch.positions,
        attention_mask=batch.seeing,
        visual_pos_masks=batch.pictures,
        deepstack_visual_embeds=deep,
        use_cache=False,
    ).last_hidden_state
    places = batch.wanted != NOT_WANTED
    return model.lm_head(hidden[places]).float(), batch.wanted[places]


def quick_arithmetic() -> Any:
    """Return the context that training computes in: bf16 products where the CPU has units for them, a quarter quicker."""
    return torch.autocast("cpu", torch.bfloat16, enabled=look_at_hardware().cpu_bf16)


def answers_right(batch: LanguageBatch, scores: Tensor) -> dict[tuple[int, int], bool]:
    """Return per (row, group) whether every token of its answer comes first of all.

    Exactly then greedy decoding gives the true answer, letter by letter.
    """
    places = batch.wanted != NOT_WANTED
    hits = (scores.argmax(-1) == batch.wanted[places]).tolist()
    rows, columns = places.nonzero(as_tuple=True)
    found: dict[tuple[int, int], bool] = {}
    for hit, row, group in zip(hits, rows.tolist(), batch.groups[rows, columns].tolist(), strict=True):
        found[row, group] = found.get((row, group), True) and hit
    return found


def answer_loss(scores: Tensor, wanted: Tensor) -> Tensor:
    """Return the mean loss of a wanted token."""
    return functional.cross_entropy(scores, wanted)
