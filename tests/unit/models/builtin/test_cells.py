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
