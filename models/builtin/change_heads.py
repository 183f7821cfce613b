"""Reads ``changes`` off the language part's middle layers while it learns; thrown away afterwards. Needs torch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from models.builtin.architecture import TEXT_WIDTH
from models.builtin.cells import IGNORED
from models.builtin.changes import CLOCK_PARTS, THINGS, WAYS, ChangeLabels
from models.builtin.things import MOST_OBJECTS

CELL_LAYER, FRAME_LAYER = 3, 4
"""After how many layers vision tokens, and the ends of frames, are read."""

_EVENT_WEIGHTS = (0.1, 1.0, 2.0, 1.0, 2.0)
_FRAME_LISTS = ("present", "came", "left")


class ChangeHeads(nn.Module):  # type: ignore[misc]  # the type checker skips torch
    """One linear reading of each label."""

    def __init__(self) -> None:
        super().__init__()
        cell = {"event": len(_EVENT_WEIGHTS), "thing": 1 + THINGS, "way": len(WAYS)}
        frame = {
            **CLOCK_PARTS,
            "how_many": MOST_OBJECTS + 1,
            **dict.fromkeys(_FRAME_LISTS, THINGS),
        }
        self.cell_norm, self.frame_norm = nn.LayerNorm(TEXT_WIDTH), nn.LayerNorm(TEXT_WIDTH)
        self.cell = nn.ModuleDict({name: nn.Linear(TEXT_WIDTH, count) for name, count in cell.items()})
        self.frame = nn.ModuleDict({name: nn.Linear(TEXT_WIDTH, count) for name, count in frame.items()})

    def loss(self, cells: Tensor, frames: Tensor, labels: Sequence[ChangeLabels]) -> dict[str, Tensor]:
        """Return the loss of each label.

        Args:
            cells: What the middle layer holds at all vision tokens, (tokens, width), window after window.
            frames: What a later one holds at the ends of frames, (frames, width).
        """
        found: dict[str, Tensor] = {}
        cells, frames = self.cell_norm(cells.float()), self.frame_norm(frames.float())
        for name, head in self.cell.items():
            wanted = _joined([getattr(label, name).reshape(-1) for label in labels])
            weights = torch.tensor(_EVENT_WEIGHTS) if name == "event" else None
            found[name] = _mean_loss(head(cells), wanted, weights)
        clock = _joined([label.clock for label in labels])
        for number, part in enumerate(CLOCK_PARTS):
            found[part] = _mean_loss(self.frame[part](frames), clock[:, number])
        found["how_many"] = _mean_loss(
            self.frame["how_many"](frames), _joined([label.how_many for label in labels])
        )
        for name in _FRAME_LISTS:
            wanted = _joined([getattr(label, name) for label in labels]).float()
            found[name] = (
                THINGS / 4 * functional.binary_cross_entropy_with_logits(self.frame[name](frames), wanted)
            )
        return found


def _mean_loss(scores: Tensor, wanted: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the mean over what is not ignored, 0 where all is."""
    total = functional.cross_entropy(scores, wanted, weights, ignore_index=IGNORED, reduction="sum")
    counted = wanted != IGNORED
    size = counted.sum() if weights is None else weights[wanted[counted]].sum()
    return total / size.clamp(min=1)


def _joined(parts: Sequence["np.typing.NDArray[np.int64]"]) -> Tensor:
    return torch.from_numpy(np.concatenate(parts))
