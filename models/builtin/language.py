"""The whole model in training: packed rows in, losses and right answers out. Needs torch."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.builtin.change_heads import CELL_LAYER, FRAME_LAYER, STEM_LAYER, Middle
from models.builtin.packed_attention import Layout, layout_of, packed_attention
from models.builtin.packing import NOT_WANTED, PackedRow
from models.builtin.sources import SOURCE_HEADS, Sources
from models.builtin.tower import Seen
from models.compute import look_at_hardware


class LanguageBatch(NamedTuple):
    """Packed rows side by side, padded at the end: ``ids``, ``wanted``, ``asked`` (rows, n), ``positions`` (3, rows,
    n), ``pictures`` and ``ends`` (of frames) bool (rows, n), and who may see whom."""

    ids: Tensor
    wanted: Tensor
    asked: Tensor
    positions: Tensor
    pictures: Tensor
    ends: Tensor
    layout: Layout


class Reading(NamedTuple):
    """What the model says: ``scores`` (wanted, vocabulary) at each wanted place, and ``wanted`` (wanted,); what middle
    layers hold; and by layer, counted from 1, queries and keys, (rows, heads, tokens, width)."""

    scores: Tensor
    wanted: Tensor
    middle: Middle
    looking: dict[int, tuple[Tensor, Tensor]]


def batch_of(rows: Sequence[PackedRow]) -> LanguageBatch:
    """Return rows as one batch."""
    count, longest = len(rows), max(row.ids.shape[0] for row in rows)
    ids, asked = np.zeros((count, longest), np.int64), np.zeros((count, longest), np.int64)
    wanted, positions = (
        np.full((count, longest), NOT_WANTED, np.int64),
        np.zeros((3, count, longest), np.int64),
    )
    pictures, ends = np.zeros((count, longest), bool), np.zeros((count, longest), bool)
    for number, row in enumerate(rows):
        length = row.ids.shape[0]
        ids[number, :length], asked[number, :length], wanted[number, :length] = (
            row.ids,
            row.asked,
            row.wanted,
        )
        positions[:, number, :length] = row.positions
        for frame in row.frames:
            pictures[number, frame.start : frame.end] = True
            ends[number, frame.end] = True
    as_tensor = torch.from_numpy
    return LanguageBatch(
        as_tensor(ids),
        as_tensor(wanted),
        as_tensor(asked),
        as_tensor(positions),
        as_tensor(pictures),
        as_tensor(ends),
        layout_of([row.groups for row in rows]),
    )


def read(model: Any, batch: LanguageBatch, seen: Sequence[Seen]) -> Reading:
    """Return what the model says and what its middle layers hold.

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
    middle: dict[int, Tensor] = {}
    tapped: dict[int, tuple[Tensor, Tensor]] = {}
    with ExitStack() as hooks:
        for layer in (CELL_LAYER, FRAME_LAYER, STEM_LAYER):
            hooks.enter_context(_kept(text.layers[layer - 1], layer, middle))
        hooks.enter_context(packed_attention(text))
        hidden = text(
            inputs_embeds=embedded,
            position_ids=batch.positions,
            packed=batch.layout,
            tapped=tapped,
            visual_pos_masks=batch.pictures,
            deepstack_visual_embeds=deep,
            use_cache=False,
        ).last_hidden_state
    places = batch.wanted != NOT_WANTED
    return Reading(
        model.lm_head(hidden[places]).float(),
        batch.wanted[places],
        Middle(
            middle[CELL_LAYER][batch.pictures],
            middle[STEM_LAYER][batch.pictures],
            middle[FRAME_LAYER][batch.ends],
            middle[STEM_LAYER][torch.arange(len(batch.ids)), batch.layout.shares - 1],
        ),
        {layer + 1: pair for layer, pair in tapped.items()},
    )


@contextmanager
def _kept(module: Any, name: int, into: dict[int, Tensor]) -> Iterator[None]:
    """Keep what a layer returns, inside the block."""

    def keep(_module: Any, _inputs: Any, output: Any) -> None:
        into[name] = output if isinstance(output, Tensor) else output[0]

    hook = module.register_forward_hook(keep)
    try:
        yield
    finally:
        hook.remove()


def source_losses(
    reading: Reading, rows: Sequence[PackedRow], sources: Sequence[Sources]
) -> dict[str, Tensor]:
    """Return, by kind, the mean loss of attention that looks elsewhere than where something is to be read from.

    Kinds that no answer has are left out.
    """
    found: dict[str, list[Tensor]] = {}
    for number, (row, source) in enumerate(zip(rows, sources, strict=True)):
        groups = torch.from_numpy(row.groups)
        for kind, (name, (layer, head)) in enumerate(SOURCE_HEADS.items()):
            mine = source.kinds == kind
            if not mine.any():
                continue
            places, origins = torch.from_numpy(source.places[mine]), torch.from_numpy(source.origins[mine])
            seeing = (groups[None, :] == 0) | (groups[None, :] == groups[places][:, None])
            seeing &= torch.arange(len(groups))[None, :] <= places[:, None]
            queries, keys = (part[number, head].float() for part in reading.looking[layer])
            scores = queries[places] @ keys[: len(groups)].T * queries.shape[-1] ** -0.5
            scores = scores.masked_fill(~seeing, float("-inf"))
            found.setdefault(name, []).append(functional.cross_entropy(scores, origins, reduction="none"))
    return {f"source_{name}": torch.cat(losses).mean() for name, losses in found.items()}


def quick_arithmetic() -> Any:
    """Return the context that training computes in: bf16 products where the CPU has units for them, a quarter quicker."""
    return torch.autocast("cpu", torch.bfloat16, enabled=look_at_hardware().cpu_bf16)


def answers_right(batch: LanguageBatch, scores: Tensor) -> dict[tuple[int, int], bool]:
    """Return per (row, question) whether every token of its answer comes first of all.

    Exactly then greedy decoding gives the true answer, letter by letter.
    """
    places = batch.wanted != NOT_WANTED
    hits = (scores.argmax(-1) == batch.wanted[places]).tolist()
    rows, columns = places.nonzero(as_tuple=True)
    found: dict[tuple[int, int], bool] = {}
    for hit, row, question in zip(hits, rows.tolist(), batch.asked[rows, columns].tolist(), strict=True):
        found[row, question] = found.get((row, question), True) and hit
    return found


def answer_loss(scores: Tensor, wanted: Tensor) -> Tensor:
    """Return the mean loss of a wanted token."""
    return functional.cross_entropy(scores, wanted)
