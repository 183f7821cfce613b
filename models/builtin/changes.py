"""What the language part should know, before any question, of each used frame: its time, and what is new in it. Pure.

Told only by answers, it learnt neither to copy a label nor to compare frames within a thousand steps; these labels
say at every vision token, and at the end of every frame, what to look for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models.builtin.cells import COLOURS, IGNORED, SHAPES, cell_of
from models.builtin.things import MOST_OBJECTS
from models.builtin.truth import SceneObject
from models.builtin.watched import LABEL, Watched, Way
from models.chat import Cells

THINGS = len(COLOURS) * len(SHAPES)
"""How many kinds of thing there are; ``thing_number`` counts them from 0."""

NOTHING, STOOD, CAME, MOVED, LEFT = range(5)
"""What happened in a cell since the used frame before."""

WAYS = {way: number for number, way in enumerate(Way)}
CLOCK_PARTS = {"hour": 24, "minute": 60, "second": 60, "tenth": 11}
"""What a label says, with how many values each; the last tenth means that there is none."""

ORDERS = 7
"""Changes of a window are counted so far; later ones count as the last."""

_STIRRED = 0.01


class ChangeLabels(NamedTuple):
    """Labels of all used frames of one window, int64.

    Attributes:
        event: (frames, cells), where a thing's centre lies, or lay; ``IGNORED`` in the first frame.
        thing: (frames, cells), 1 + the number of the thing whose centre that is, 0 for none.
        way: (frames, cells), which way it went since it was first seen; ``IGNORED`` without one.
        order: (frames, cells), how many changes there were before the one that shows here; ``IGNORED`` without one.
        clock: (frames, 4), hour, minute, second and tenth of the frame's label.
        how_many: (frames,), how many things are seen.
        present, came, left: (frames, THINGS), 1 for what is seen, new, or gone since the frame before.
    """

    event: NDArray[np.int64]
    thing: NDArray[np.int64]
    way: NDArray[np.int64]
    order: NDArray[np.int64]
    clock: NDArray[np.int64]
    how_many: NDArray[np.int64]
    present: NDArray[np.int64]
    came: NDArray[np.int64]
    left: NDArray[np.int64]


def thing_number(thing: SceneObject) -> int:
    """Return which kind of thing it is."""
    return (COLOURS[thing.colour] - 1) * len(SHAPES) + SHAPES[thing.shape] - 1


def change_labels(watched: Watched, cells: Cells) -> ChangeLabels:
    """Return what the used frames of a scene show, frame by frame."""
    frames, size = len(watched.moments), cells.rows * cells.columns
    event, thing = np.zeros((frames, size), np.int64), np.zeros((frames, size), np.int64)
    way = np.full((frames, size), IGNORED, np.int64)
    order = np.full((frames, size), IGNORED, np.int64)
    for number, change in enumerate(watched.changes()):
        order[change.at, cell_of(watched.shown_at(change), cells)] = min(number, ORDERS - 1)
    present, came, left = (np.zeros((frames, THINGS), np.int64) for _ in range(3))
    for at in range(frames):
        for gone in _gone(watched, at):
            spot = cell_of(watched.spot(gone, at - 1), cells)
            event[at, spot], thing[at, spot] = LEFT, 1 + thing_number(gone)
            left[at, thing_number(gone)] = 1
        for here in watched.things(at):
            spot, number = cell_of(watched.spot(here, at), cells), thing_number(here)
            event[at, spot], thing[at, spot] = _event(watched, here, at), 1 + number
            gone_way = watched.way(here, until=at + 1)
            way[at, spot] = IGNORED if gone_way is None else WAYS[gone_way]
            present[at, number] = 1
            came[at, number] = at > 0 and not watched.seen(here, at - 1)
    event[0] = IGNORED
    how_many = np.minimum(present.sum(axis=1), MOST_OBJECTS)
    clock = np.array([_clock(moment.label) for moment in watched.moments], np.int64)
    return ChangeLabels(event, thing, way, order, clock, how_many, present, came, left)


def _gone(watched: Watched, at: int) -> list[SceneObject]:
    if at == 0:
        return []
    return [thing for thing in watched.things(at - 1) if not watched.seen(thing, at)]


def _event(watched: Watched, thing: SceneObject, at: int) -> int:
    if at == 0 or not watched.seen(thing, at - 1):
        return CAME
    now, then = watched.spot(thing, at), watched.spot(thing, at - 1)
    return MOVED if abs(now.x - then.x) + abs(now.y - then.y) > _STIRRED else STOOD


def _clock(label: str) -> list[int]:
    found = LABEL.fullmatch(label)
    assert found is not None, "labels are written by the service"
    hour, minute, second, tenth = found.groups()
    return [int(hour), int(minute), int(second), 10 if tenth is None else int(tenth)]
