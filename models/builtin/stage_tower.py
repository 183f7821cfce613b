"""The first stage of training: the vision tower alone, on dense labels of every cell. Needs torch.

Started from nothing together with the language part, the tower learns nothing for a long time; told what each cell
shows, it sees within minutes. The heads that read the labels off are thrown away afterwards, or kept as a second
loss while the language part learns.
"""

import logging
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.builtin.architecture import TEXT_WIDTH
from models.builtin.cells import IGNORED, CellLabels
from models.builtin.frames import FrameBatch, frame_batch
from models.builtin.optimizing import Optimizers, share_of_rate
from models.builtin.seeds import TOWER_FRAMES
from models.builtin.tower import Seen, patches_of, see

_CLASSES = {"colour": 7, "shape": 5, "zone": 10, "centre": 2}
_WEIGHT = {"colour": 1.0, "shape": 3.0, "zone": 0.7, "centre": 1.5}
_log = logging.getLogger(__name__)


class CellHeads(nn.Module):  # type: ignore[misc]  # the type checker skips torch
    """Reads each label off a vision token, once from the last layer and once from the DeepStack layer."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.ModuleDict({name: nn.Linear(TEXT_WIDTH, count) for name, count in _CLASSES.items()})
        self.deep = nn.ModuleDict({name: nn.Linear(TEXT_WIDTH, count) for name, count in _CLASSES.items()})

    def loss(self, seen: Seen, labels: CellLabels) -> Tensor:
        """Return the summed loss of all labels."""
        total = torch.zeros(())
        for heads, tokens, scale in ((self.last, seen.pooled, 1.0), (self.deep, seen.deep[0], 0.5)):
            for name, head in heads.items():
                wanted = torch.from_numpy(getattr(labels, name)).flatten()
                loss = functional.cross_entropy(head(tokens).flatten(0, 1), wanted, ignore_index=IGNORED)
                total = total + scale * _WEIGHT[name] * loss
        return total

    def right(self, seen: Seen, labels: CellLabels) -> dict[str, tuple[int, int]]:
        """Return per label how many covered cells were read rightly, and how many there are."""
        found: dict[str, tuple[int, int]] = {}
        for name, head in self.last.items():
            wanted = torch.from_numpy(getattr(labels, name)).flatten()
            guessed = head(seen.pooled.detach()).flatten(0, 1).argmax(-1)
            judged = ((wanted > 0) | (guessed > 0)) & (wanted != IGNORED)
            found[name] = (int((guessed == wanted)[judged].sum()), int(judged.sum()))
        return found


def tower_step(tower: Any, heads: CellHeads, batch: FrameBatch) -> tuple[Tensor, Seen]:
    """Return the loss of one batch and what the tower saw."""
    seen = see(tower, patches_of(torch.from_numpy(batch.pixels), batch.cells), batch.cells)
    return heads.loss(seen, batch.labels), seen


def train_tower(
    tower: Any, heads: CellHeads, optimizers: Optimizers, *, start: int, steps: int, frames: int, save: Any
) -> None:
    """Train from step ``start`` to ``steps``; ``save(step)`` is called now and then, and at the end."""
    for step in range(start, steps):
        batch = frame_batch(TOWER_FRAMES // 1_000 + step, frames)
        loss, seen = tower_step(tower, heads, batch)
        optimizers.step(loss, share_of_rate(step, steps))
        if step % 20 == 0 or step == steps - 1:
            right = {
                name: round(a / max(1, b), 3) for name, (a, b) in heads.right(seen, batch.labels).items()
            }
            _log.info("tower step", extra={"step": step, "loss": round(loss.item(), 3), **right})
        if step % 50 == 49 or step == steps - 1:
            save(step + 1)
