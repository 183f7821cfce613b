import numpy as np

from models.builtin.cells import COLOURS, SHAPES, cell_labels, zone_of
from models.builtin.things import ThingColour, ThingShape
from models.builtin.truth import Spot
from models.chat import Cells
from tests.support.toy_scenes import scene, thing

CELLS = Cells(4, 7)


def test_zones_are_the_thirds_of_the_picture() -> None:
    assert zone_of(Spot(0.1, 0.9)) == (2, 0)
    assert zone_of(Spot(0.5, 0.5)) == (1, 1)
    assert zone_of(Spot(-0.1, 1.2)) == (2, 0)


def test_the_cell_of_the_centre_knows_everything_and_far_cells_nothing() -> None:
    labels = cell_labels(scene(thing(1, "blue", "square", at=(0.5, 0.4))), 0, CELLS)
    middle = 1 * 7 + 3
    assert labels.colour[middle] == COLOURS[ThingColour.BLUE]
    assert labels.shape[middle] == SHAPES[ThingShape.SQUARE]
    assert labels.zone[middle] == 5
    assert labels.centre.sum() == 1
    assert labels.centre[middle] == 1
    assert labels.colour[0] == 0


def test_an_empty_frame_has_nothing_in_any_cell() -> None:
    labels = cell_labels(scene(thing(1, comes_s=3)), 0, CELLS)
    assert all(not np.any(part) for part in labels)


def test_there_are_as_many_centres_as_objects_inside_the_picture() -> None:
    truth = scene(thing(1, at=(0.2, 0.3)), thing(2, at=(0.8, 0.3)), thing(3, at=(1.2, 0.3)))
    assert cell_labels(truth, 0, CELLS).centre.sum() == 2


def test_each_seen_object_knows_how_many_come_before_and_after_it_as_one_reads() -> None:
    low = thing(1, "red", "circle", at=(0.2, 0.85))
    right, left = thing(2, "blue", "square", at=(0.9, 0.15)), thing(3, "green", "cross", at=(0.1, 0.3))
    labels = cell_labels(scene(low, right, left), 0, CELLS)
    places = [int(labels.colour[cell]) for cell in np.flatnonzero(labels.centre)]
    assert places == [COLOURS[ThingColour.BLUE], COLOURS[ThingColour.GREEN], COLOURS[ThingColour.RED]]
    centres = labels.centre > 0
    assert labels.rank[centres].tolist() == [2, 1, 3]
    assert labels.rest[centres].tolist() == [2, 3, 1]


def test_an_object_mostly_out_of_the_picture_is_not_counted() -> None:
    labels = cell_labels(scene(thing(1, at=(-0.01, 0.5)), thing(2, at=(0.5, 0.5))), 0, CELLS)
    assert set(labels.rank[labels.colour > 0].tolist()) == {0, 1}
    assert labels.rest.max() == 1
