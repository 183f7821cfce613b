"""Attention over packed rows, computed only where a token may look: half the work of a masked square. Needs torch.

The shared parts are one causal attention; each conversation looks at the shared part of its row and at itself, all
conversations of about one length together.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

PACKED = "livelens_packed"
"""The name under which the library finds this attention."""

_WIDER = 1.5


class Talks(NamedTuple):
    """Conversations of about one length, G of them, padded to T tokens.

    Attributes:
        row: int64 (G,), the row that each lies in.
        at: int64 (G, T), the places of its tokens in that row; the first one's again where it is shorter.
        real: bool (G, T), False for padding.
        seeing: bool (G, 1, T, S + T), which token may see which of the shared part and of its own.
    """

    row: Tensor
    at: Tensor
    real: Tensor
    seeing: Tensor


class Layout(NamedTuple):
    """How rows are packed: how long each row's shared part is, int64 (rows,), and conversations by length."""

    shares: Tensor
    talks: tuple[Talks, ...]


def layout_of(groups: Sequence[Any]) -> Layout:
    """Return the layout of rows, from the numbers of their tokens' groups (0 for the shared part)."""
    rows = [torch.from_numpy(row) for row in groups]
    shares = [int((row == 0).sum()) for row in rows]
    spans: list[tuple[int, int, int]] = []
    for number, row in enumerate(rows):
        sizes = torch.bincount(row)[1:].tolist()
        start = shares[number]
        for size in sizes:
            spans.append((size, number, start))
            start += size
    spans.sort()
    bundles: list[list[tuple[int, int, int]]] = []
    for span in spans:
        if not bundles or span[0] > _WIDER * bundles[-1][0][0]:
            bundles.append([])
        bundles[-1].append(span)
    lengths = torch.tensor(shares)
    return Layout(lengths, tuple(_talks(bundle, lengths) for bundle in bundles))


def _talks(bundle: Sequence[tuple[int, int, int]], shares: Tensor) -> Talks:
    shared = int(shares.max())
    size = torch.tensor([span[0] for span in bundle])
    row = torch.tensor([span[1] for span in bundle])
    start = torch.tensor([span[2] for span in bundle])
    steps = torch.arange(int(size.max()))
    real = steps[None, :] < size[:, None]
    at = start[:, None] + torch.where(real, steps[None, :], 0)
    before = torch.arange(shared)[None, :] < shares[row][:, None]
    own = steps[:, None] >= steps[None, :]
    wide = (len(bundle), len(steps))
    seeing = torch.cat([before[:, None, :].expand(*wide, shared), own[None].expand(*wide, len(steps))], dim=2)
    return Talks(row, at, real, seeing[:, None])


def attend_exactly(query: Tensor, key: Tensor, value: Tensor, **how: Any) -> Tensor:
    """Return the library's attention, computed in fp32: its way back in bf16 takes three to five times as long here."""
    with torch.autocast("cpu", enabled=False):
        mixed: Tensor = functional.scaled_dot_product_attention(
            query.float(), key.float(), value.float(), **how
        )
    return mixed


def attend(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Tensor | None,
    *,
    packed: Layout,
    scaling: float,
    tapped: dict[int, tuple[Tensor, Tensor]] | None = None,
    **_unused: Any,
) -> tuple[Tensor, None]:
    """Return what every token takes from those it may see, (rows, tokens, heads, width), as the library wants it.

    Args:
        tapped: Gets, under the number of a layer, that layer's queries and keys, (rows, heads, tokens, width).
    """
    shared = int(packed.shares.max())
    query, key = query.to(value.dtype), key.to(value.dtype)
    if tapped is not None:
        tapped[module.layer_idx] = query, key
    mixed = attend_exactly(
        query[:, :, :shared], key[:, :, :shared], value[:, :, :shared], is_causal=True, scale=scaling
    ).to(value.dtype)
    whole = torch.cat([mixed.transpose(1, 2), torch.zeros_like(value[:, :, shared:]).transpose(1, 2)], dim=1)
    for talks in packed.talks:
        mine = [_taken(part, talks) for part in (query, key, value)]
        keys, values = (
            torch.cat([part[talks.row, :, :shared], own], dim=2)
            for part, own in ((key, mine[1]), (value, mine[2]))
        )
        told = functional.scaled_dot_product_attention(
            mine[0], keys, values, attn_mask=talks.seeing, scale=scaling
        ).transpose(1, 2)
        rows = talks.row[:, None].expand_as(talks.at)[talks.real]
        whole = whole.index_put((rows, talks.at[talks.real]), told[talks.real])
    return whole.contiguous(), None


def _taken(part: Tensor, talks: Talks) -> Tensor:
    """Return the conversations' own tokens, (G, heads, T, width)."""
    return part.transpose(1, 2)[talks.row[:, None], talks.at].transpose(1, 2)


@contextmanager
def packed_attention(text: Any) -> Iterator[None]:
    """Make a text model attend in this way inside the block; it then needs ``packed=`` in every call."""
    from transformers import AttentionInterface

    AttentionInterface.register(PACKED, attend)
    usual = text.config._attn_implementation
    text.config._attn_implementation = PACKED
    try:
        yield
    finally:
        text.config._attn_implementation = usual
