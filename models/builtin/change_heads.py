"""Reads ``changes`` off the language part's middle layers while it learns; thrown away afterwards. Needs torch."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from models.builtin.architecture import TEXT_WIDTH
from models.builtin.cells import IGNORED
from models.builtin.changes import CLOCK_PARTS, ORDERS, THINGS, WAYS, ChangeLabels
from models.builtin.things import MOST_OBJECTS

CELL_LAYER, FRAME_LAYER, STEM_LAYER = 3, 4, 5
"""After how many layers vision tokens, the ends of frames, and what stands right before the questions, are read."""

_EVENT_WEIGHTS = (0.1, 1.0, 2.0, 1.0, 2.0)
_FRAME_LISTS = ("present", "came", "left")
_FRAME_CLASSES = {**CLOCK_PARTS, "how_many": MOST_OBJECTS + 1, **dict.fromkeys(_FRAME_LISTS, THINGS)}


class Middle(NamedTuple):
    """What middle layers hold: at all vision tokens early and late (tokens, width), window after window, at the
    ends of all frames (frames, width), and at each window's last token before the questions (windows, width)."""

    cells: Tensor
    late_cells: Tensor
    frames: Tensor
    stems: Tensor


class ChangeHeads(nn.Module):  # type: ignore[misc]  # the type checker skips torch
    """One linear reading of each label; the stem tells of the last frame, and of what came and left in the window."""

    def __init__(self) -> None:
        super().__init__()
        cell = {"event": len(_EVENT_WEIGHTS), "thing": 1 + THINGS, "way": len(WAYS)}
        self.cell_norm, self.frame_norm, self.stem_norm = (nn.LayerNorm(TEXT_WIDTH) for _ in range(3))
        self.late_norm = nn.LayerNorm(TEXT_WIDTH)
        self.late = _readings({"order": ORDERS, **CLOCK_PARTS})
        self.cell = _readings(cell)
        self.frame, self.stem = _readings(_FRAME_CLASSES), _readings(_FRAME_CLASSES)

    def loss(self, middle: Middle, labels: Sequence[ChangeLabels]) -> dict[str, Tensor]:
        """Return the loss of each label; those of the stem are named ``last_...``."""
        found: dict[str, Tensor] = {}
        cells = self.cell_norm(middle.cells.float())
        for name, head in self.cell.items():
            wanted = _joined([getattr(label, name).reshape(-1) for label in labels])
            weights = torch.tensor(_EVENT_WEIGHTS) if name == "event" else None
            found[name] = _mean_loss(head(cells), wanted, weights)
        found |= self._late_losses(self.late_norm(middle.late_cells.float()), labels)
        frames, stems = self.frame_norm(middle.frames.float()), self.stem_norm(middle.stems.float())
        whole = [_whole_window(label) for label in labels]
        found |= _frame_losses(self.frame, frames, labels)
        found |= {f"last_{name}": loss for name, loss in _frame_losses(self.stem, stems, whole).items()}
        return found

    def _late_losses(self, cells: Tensor, labels: Sequence[ChangeLabels]) -> dict[str, Tensor]:
        """Return what cells tell later: their frame's time, and how many changes there were before their own."""
        order = _joined([label.order.reshape(-1) for label in labels])
        found = {"order": _mean_loss(self.late["order"](cells), order)}
        clock = _joined([np.repeat(label.clock, label.order.shape[1], axis=0) for label in labels])
        return found | {f"cell_{part}": loss for part, loss in _clock_losses(self.late, cells, clock).items()}


def _readings(classes: Mapping[str, int]) -> nn.ModuleDict:
    return nn.ModuleDict({name: nn.Linear(TEXT_WIDTH, count) for name, count in classes.items()})


def _whole_window(labels: ChangeLabels) -> ChangeLabels:
    """Return a window's labels as if it were one frame: the last one's, with all that ever came and left."""
    return labels._replace(
        clock=labels.clock[-1:],
        how_many=labels.how_many[-1:],
        present=labels.present[-1:],
        came=labels.came.max(axis=0, keepdims=True),
        left=labels.left.max(axis=0, keepdims=True),
    )


def _frame_losses(heads: nn.ModuleDict, hidden: Tensor, labels: Sequence[ChangeLabels]) -> dict[str, Tensor]:
    clock = _joined([label.clock for label in labels])
    found = _clock_losses(heads, hidden, clock)
    found["how_many"] = _mean_loss(heads["how_many"](hidden), _joined([label.how_many for label in labels]))
    for name in _FRAME_LISTS:
        wanted = _joined([getattr(label, name) for label in labels]).float()
        found[name] = THINGS / 4 * functional.binary_cross_entropy_with_logits(heads[name](hidden), wanted)
    return found


def _clock_losses(heads: nn.ModuleDict, hidden: Tensor, clock: Tensor) -> dict[str, Tensor]:
    return {part: _mean_loss(heads[part](hidden), clock[:, at]) for at, part in enumerate(CLOCK_PARTS)}


def _mean_loss(scores: Tensor, wanted: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the mean over what is not ignored, 0 where all is."""
    total = functional.cross_entropy(scores, wanted, weights, ignore_index=IGNORED, reduction="sum")
    counted = wanted != IGNORED
    size = counted.sum() if weights is None else weights[wanted[counted]].sum()
    return total / size.clamp(min=1)


def _joined(parts: Sequence["np.typing.NDArray[np.int64]"]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts))
