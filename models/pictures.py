"""How a picture becomes encoder input: its size under a token budget, and its pixels as rows of patches. Pure.

Pictures are scaled where they are converted (``Picture.rgb``), so that no full-size RGB frame is ever made.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.frames import Picture
from models.chat import Cells


@dataclass(frozen=True, slots=True)
class PictureRules:
    """How the encoder wants its pictures, from the checkpoint's processor settings.

    Attributes:
        patch_px, merge: A patch is so many pixels square, and merge × merge patches become one vision token.
        temporal: Frames per patch in time; a single picture is repeated so often.
        mean, std: Per channel, of values scaled by ``rescale``.
        frame_tokens: A picture never gets more vision tokens than this.
    """

    patch_px: int
    merge: int
    temporal: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    rescale: float
    frame_tokens: int

    @property
    def cell_px(self) -> int:
        """Return the side of the square of pixels that becomes one vision token."""
        return self.patch_px * self.merge


class Prepared(NamedTuple):
    """A picture ready for the encoder: ``pixels`` float32 (patches, values), ``grid`` (t, h, w) in patches."""

    pixels: NDArray[np.float32]
    grid: tuple[int, int, int]


def fit_cells(width_px: int, height_px: int, rules: PictureRules) -> Cells:
    """Return rows and columns of vision tokens for a picture: as many as the budget and the picture allow,
    with the picture's shape kept as well as whole cells can.

    A picture is never made larger than it is, but for being at least one cell.
    """
    ratio = width_px / height_px
    most_rows = max(1, round(height_px / rules.cell_px))
    most_columns = max(1, round(width_px / rules.cell_px))
    best, best_score = Cells(1, 1), -math.inf
    for rows in range(1, min(most_rows, rules.frame_tokens) + 1):
        wanted = rows * ratio
        for columns in {math.floor(wanted), math.ceil(wanted)}:
            cells = Cells(rows, max(1, min(columns, most_columns)))
            tokens = cells.rows * cells.columns
            if tokens > rules.frame_tokens:
                continue
            bent = abs(math.log(cells.columns / cells.rows / ratio))
            # 1 % out of shape costs as much as 2 % of the tokens.
            score = tokens - 2 * rules.frame_tokens * bent
            if score > best_score:
                best, best_score = cells, score
    return best


def prepare(picture: Picture, rules: PictureRules) -> Prepared:
    """Return a picture as the encoder wants it, grid t = 1. Takes milliseconds; call it outside the event loop."""
    cells = fit_cells(picture.width_px, picture.height_px, rules)
    rgb = picture.rgb(cells.columns * rules.cell_px, cells.rows * rules.cell_px)
    return Prepared(_patches(rgb, cells, rules), (1, cells.rows * rules.merge, cells.columns * rules.merge))


def _patches(rgb: NDArray[np.uint8], cells: Cells, rules: PictureRules) -> NDArray[np.float32]:
    """Return rows of patches in the order the encoder merges them.

    The order of axes is that of transformers' Qwen2-VL picture processor; a test compares every value.
    """
    planes = np.take_along_axis(_levels(rules), rgb.reshape(-1, 3).astype(np.intp), axis=0)
    p, m = rules.patch_px, rules.merge
    blocks = planes.reshape(cells.rows, m, p, cells.columns, m, p, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    repeated = np.broadcast_to(blocks[:, :, :, :, :, None], (*blocks.shape[:5], rules.temporal, p, p))
    rows: NDArray[np.float32] = repeated.reshape(cells.rows * cells.columns * m * m, -1)
    return rows


def _levels(rules: PictureRules) -> NDArray[np.float32]:
    """Return what each of 256 levels becomes in each channel, shape (256, 3)."""
    scaled = (np.arange(256) * rules.rescale).astype(np.float32)[:, None]
    mean, std = np.array(rules.mean, np.float32), np.array(rules.std, np.float32)
    return np.asarray((scaled - mean) / std, dtype=np.float32)
