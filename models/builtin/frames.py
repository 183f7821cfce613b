"""Single frames with their labels, for the tower's first stage: batch after batch from a seed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.architecture import PICTURES
from models.builtin.cells import CellLabels, cell_labels
from models.builtin.scenes import draw, kind_of, scene_truth, through_h264
from models.builtin.seeds import for_training
from models.builtin.things import PICTURE_SIZES
from models.chat import Cells
from models.pictures import fit_cells

_TIMES_US = (0, 2_700_000, 5_900_000)
_HALF = 2
"""Most frames are drawn at half the camera's size: four times quicker, and harder to see."""


class FrameBatch(NamedTuple):
    """Frames of one size: ``pixels`` uint8 (frames, height, width, 3), labels (frames, cells)."""

    pixels: NDArray[np.uint8]
    cells: Cells
    labels: CellLabels


def frame_batch(seed: int, frames: int) -> FrameBatch:
    """Return the batch of a seed; another seed, other scenes."""
    width, height = PICTURE_SIZES[seed % len(PICTURE_SIZES)]
    pixels: list[NDArray[np.uint8]] = []
    labels: list[CellLabels] = []
    cells = fit_cells(width, height, PICTURES)
    scene = for_training(seed * 1_000)
    while len(pixels) < frames:
        scene += 1
        part = 1 if scene % 6 == 0 else _HALF
        kind = kind_of(scene, size=(width // part, height // part))
        truth = scene_truth(scene, _TIMES_US[-1] + 1, kind=kind)
        for t_us, picture in through_h264(draw(scene, truth, _TIMES_US), fps=1, crf=kind.crf):
            pixels.append(picture.rgb(cells.columns * PICTURES.cell_px, cells.rows * PICTURES.cell_px))
            labels.append(cell_labels(truth, t_us, cells))
    stacked = CellLabels(*(np.stack(column[:frames]) for column in zip(*labels, strict=True)))
    return FrameBatch(np.stack(pixels[:frames]), cells, stacked)
