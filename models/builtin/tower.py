"""The vision tower in training: a batch of frames of one size, computed together. Needs torch and transformers.

The same numbers as ``Qwen3VLVisionModel.forward`` from the same weights (a test compares), about three times faster
on a CPU: all frames share one grid, so attention is one batched call, and a single picture's repeat in time is folded
into the patch weights.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.qwen3_vl.modeling_qwen3_vl import (
    apply_rotary_pos_emb_vision,
    get_vision_interpolation_indices_and_weights,
    get_vision_position_ids,
)

from models.builtin.architecture import MERGE
from models.builtin.packed_attention import attend_exactly
from models.chat import Cells


class Seen(NamedTuple):
    """Vision tokens of a batch: ``pooled`` (frames, tokens, width), ``deep`` one such tensor per DeepStack layer."""

    pooled: Tensor
    deep: tuple[Tensor, ...]

    def columns(self) -> Tensor:
        """Return all that is cached of a frame: (frames, tokens, width × (1 + DeepStack layers))."""
        return torch.cat([self.pooled, *self.deep], dim=-1)


def see(tower: Any, patches: Tensor, cells: Cells) -> Seen:
    """Return the vision tokens of frames of one size.

    Args:
        tower: A ``Qwen3VLVisionModel``.
        patches: float (frames, patches, values), as ``patches_of`` makes them.
        cells: Rows and columns of vision tokens of each frame.
    """
    frames, count, _ = patches.shape
    projection = tower.patch_embed.proj
    weight = projection.weight.sum(dim=2).flatten(1)
    hidden = functional.linear(patches, weight, projection.bias)
    grid = torch.tensor([[1, cells.rows * MERGE, cells.columns * MERGE]])
    indices, weights = get_vision_interpolation_indices_and_weights(
        grid,
        num_grid_per_side=tower.num_grid_per_side,
        mode=tower.interpolation_mode,
        align_corners=tower.interpolation_align_corners,
        spatial_merge_size=MERGE,
        kwargs={},
    )
    hidden = hidden + (tower.pos_embed(indices) * weights[:, :, None]).sum(1)
    cos, sin = tower.rotary_pos_emb(hidden, get_vision_position_ids(grid, MERGE, kwargs={}))
    deep: list[Tensor] = []
    for number, block in enumerate(tower.blocks):
        hidden = hidden + _attend(block.attn, block.norm1(hidden), cos, sin)
        hidden = hidden + block.mlp(block.norm2(hidden))
        if number in tower.deepstack_visual_indexes:
            merger = tower.deepstack_merger_list[tower.deepstack_visual_indexes.index(number)]
            deep.append(merger(hidden).view(frames, count // MERGE**2, -1))
    return Seen(tower.merger(hidden).view(frames, count // MERGE**2, -1), tuple(deep))


def _attend(attention: Any, hidden: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    frames, count, width = hidden.shape
    query, key, value = attention.qkv(hidden).view(frames, count, 3, attention.num_heads, -1).unbind(2)
    query, key = apply_rotary_pos_emb_vision(query, key, cos, sin)
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    mixed = attend_exactly(query, key, value, scale=attention.scaling)
    projected: Tensor = attention.proj(mixed.transpose(1, 2).reshape(frames, count, width))
    return projected


def patches_of(pixels: Tensor, cells: Cells) -> Tensor:
    """Return uint8 pixels (frames, height, width, 3) as rows of patches, float (frames, patches, values).

    The order is that of ``models.pictures.prepare``, without the repeat in time.
    """
    frames, side = pixels.shape[0], pixels.shape[1] // (cells.rows * MERGE)
    blocks = pixels.view(frames, cells.rows, MERGE, side, cells.columns, MERGE, side, 3)
    ordered = blocks.permute(0, 1, 4, 2, 5, 7, 3, 6)
    return ordered.reshape(frames, cells.rows * cells.columns * MERGE**2, -1).float() / 127.5 - 1.0
