"""What each vision token of a frame should know: which object covers its cell, and whose centre lies in it. Pure."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.draw import distance
from models.builtin.things import ThingColour, ThingShape
from models.builtin.truth import SceneObject, SceneTruth, Spot
from models.chat import Cells

IGNORED = -100
"""A cell so slightly touched that nobody could tell by what."""

COLOURS = {colour: number for number, colour in enumerate(ThingColour, start=1)}
SHAPES = {shape: number for number, shape in enumerate(ThingShape, start=1)}
_POINTS = 8
_SLIVER = 0.08


class CellLabels(NamedTuple):
    """Labels of one frame's cells, each int64 of shape (rows × columns,); 0 means nothing there.

    ``zone`` is 1 + 3 × row + column of the third that the covering object's centre lies in.
    """

    colour: NDArray[np.int64]
    shape: NDArray[np.int64]
    zone: NDArray[np.int64]
    centre: NDArray[np.int64]


def kind_order(thing: SceneObject) -> tuple[int, int]:
    """Return what things are listed by where no other order is asked for: colour, then shape."""
    return COLOURS[thing.colour], SHAPES[thing.shape]


def zone_of(spot: Spot) -> tuple[int, int]:
    """Return (row, column), each 0 to 2, of the third of the picture that a centre lies in."""
    return min(2, max(0, int(spot.y * 3))), min(2, max(0, int(spot.x * 3)))


def cell_of(spot: Spot, cells: Cells) -> int:
    """Return the number of the cell, row by row, that a centre lies in; the nearest one where it lies outside."""
    row = min(cells.rows - 1, max(0, int(spot.y * cells.rows)))
    return row * cells.columns + min(cells.columns - 1, max(0, int(spot.x * cells.columns)))


def cell_labels(truth: SceneTruth, t_us: int, cells: Cells) -> CellLabels:
    """Return what each cell of the frame at ``t_us`` shows."""
    things = [thing for thing in truth.objects if thing.present(t_us)]
    count = cells.rows * cells.columns
    colour, shape, zone, centre = (np.zeros(count, np.int64) for _ in range(4))
    if not things:
        return CellLabels(colour, shape, zone, centre)
    covers = np.stack([_cover(truth, thing, t_us, cells) for thing in things])
    for number, thing in enumerate(things):
        at = thing.spot(t_us)
        if 0 <= at.x < 1 and 0 <= at.y < 1:
            middle = cell_of(at, cells)
            centre[middle] = 1
            covers[number, middle] += 1.0
    most = covers.argmax(axis=0)
    share = covers.max(axis=0)
    for number, thing in enumerate(things):
        mine = (most == number) & (share > 0)
        row, column = zone_of(thing.spot(t_us))
        for labels, value in (
            (colour, COLOURS[thing.colour]),
            (shape, SHAPES[thing.shape]),
            (zone, 1 + 3 * row + column),
        ):
            labels[mine] = np.where(share[mine] >= _SLIVER, value, IGNORED)
    return CellLabels(colour, shape, zone, centre)


def _cover(truth: SceneTruth, thing: SceneObject, t_us: int, cells: Cells) -> NDArray[np.float64]:
    """Return which share of each cell the object covers, shape (rows × columns,)."""
    at = thing.spot(t_us)
    across = (np.arange(cells.columns * _POINTS, dtype=np.float32) + 0.5) / (cells.columns * _POINTS) - at.x
    down = (np.arange(cells.rows * _POINTS, dtype=np.float32) + 0.5) / (cells.rows * _POINTS) - at.y
    radius = thing.radius * min(truth.width_px, truth.height_px)
    outside = distance(thing.shape, across[None, :] * truth.width_px, down[:, None] * truth.height_px, radius)
    blocks = (outside < 0).reshape(cells.rows, _POINTS, cells.columns, _POINTS)
    return np.asarray(blocks.mean(axis=(1, 3)).reshape(-1), dtype=np.float64)
