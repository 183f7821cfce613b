"""What each vision token of a frame should know: which object covers its cell, and whose centre lies in it. Pure."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.draw import distance
from models.builtin.things import MOST_OBJECTS, ThingColour, ThingShape
from models.builtin.truth import SEEN_SHARE, SceneObject, SceneTruth, Spot
from models.chat import Cells

IGNORED = -100
"""A cell so slightly touched that nobody could tell by what."""

COLOURS = {colour: number for number, colour in enumerate(ThingColour, start=1)}
SHAPES = {shape: number for number, shape in enumerate(ThingShape, start=1)}
_POINTS = 8
_SLIVER = 0.08


class CellLabels(NamedTuple):
    """Labels of one frame's cells, each int64 of shape (rows × columns,); 0 means nothing there.

    ``zone`` is 1 + 3 × row + column of the third that the covering object's centre lies in; ``rank`` and ``rest`` are
    1 + how many seen objects come before and after it as one reads, at most ``MOST_OBJECTS``, 0 where it is not seen.
    """

    colour: NDArray[np.int64]
    shape: NDArray[np.int64]
    zone: NDArray[np.int64]
    centre: NDArray[np.int64]
    rank: NDArray[np.int64]
    rest: NDArray[np.int64]


def kind_order(thing: SceneObject) -> tuple[int, int]:
    """Return what things are listed by where no other order is asked for: colour, then shape."""
    return COLOURS[thing.colour], SHAPES[thing.shape]


def zone_of(spot: Spot) -> tuple[int, int]:
    """Return (row, column), each 0 to 2, of the third of the picture that a centre lies in."""
    return min(2, max(0, int(spot.y * 3))), min(2, max(0, int(spot.x * 3)))


def reading_order(thing: SceneObject, spot: Spot) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return what things of one picture are listed by: third by third as one reads; within one third by kind."""
    return zone_of(spot), kind_order(thing)


def cell_of(spot: Spot, cells: Cells) -> int:
    """Return the number of the cell, row by row, that a centre lies in; the nearest one where it lies outside."""
    row = min(cells.rows - 1, max(0, int(spot.y * cells.rows)))
    return row * cells.columns + min(cells.columns - 1, max(0, int(spot.x * cells.columns)))


def cell_labels(truth: SceneTruth, t_us: int, cells: Cells) -> CellLabels:
    """Return what each cell of the frame at ``t_us`` shows."""
    things = [thing for thing in truth.objects if thing.present(t_us)]
    count = cells.rows * cells.columns
    labels = CellLabels(*(np.zeros(count, np.int64) for _ in CellLabels._fields))
    if not things:
        return labels
    seen = [thing for thing in things if truth.visible_share(thing, t_us) >= SEEN_SHARE]
    seen.sort(key=lambda thing: reading_order(thing, thing.spot(t_us)))
    covers = np.stack([_cover(truth, thing, t_us, cells) for thing in things])
    for number, thing in enumerate(things):
        at = thing.spot(t_us)
        if 0 <= at.x < 1 and 0 <= at.y < 1:
            middle = cell_of(at, cells)
            labels.centre[middle] = 1
            covers[number, middle] += 1.0
    most = covers.argmax(axis=0)
    share = covers.max(axis=0)
    for number, thing in enumerate(things):
        mine = (most == number) & (share > 0)
        row, column = zone_of(thing.spot(t_us))
        before = seen.index(thing) if thing in seen else None
        for label, value in (
            (labels.colour, COLOURS[thing.colour]),
            (labels.shape, SHAPES[thing.shape]),
            (labels.zone, 1 + 3 * row + column),
            (labels.rank, 0 if before is None else min(1 + before, MOST_OBJECTS)),
            (labels.rest, 0 if before is None else min(len(seen) - before, MOST_OBJECTS)),
        ):
            label[mine] = np.where(share[mine] >= _SLIVER, value, IGNORED)
    return labels


def _cover(truth: SceneTruth, thing: SceneObject, t_us: int, cells: Cells) -> NDArray[np.float64]:
    """Return which share of each cell the object covers, shape (rows × columns,)."""
    at = thing.spot(t_us)
    across = (np.arange(cells.columns * _POINTS, dtype=np.float32) + 0.5) / (cells.columns * _POINTS) - at.x
    down = (np.arange(cells.rows * _POINTS, dtype=np.float32) + 0.5) / (cells.rows * _POINTS) - at.y
    radius = thing.radius * min(truth.width_px, truth.height_px)
    outside = distance(thing.shape, across[None, :] * truth.width_px, down[:, None] * truth.height_px, radius)
    blocks = (outside < 0).reshape(cells.rows, _POINTS, cells.columns, _POINTS)
    return np.asarray(blocks.mean(axis=(1, 3)).reshape(-1), dtype=np.float64)
