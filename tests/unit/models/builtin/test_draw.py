import numpy as np
import pytest

from models.builtin.draw import Painter, distance
from models.builtin.things import Ground, ThingShape
from tests.support.toy_scenes import scene, thing


def _painter(ground: Ground = Ground.PLAIN, seed: int = 1) -> Painter:
    return Painter(seed, width_px=640, height_px=360, ground=ground)


@pytest.mark.parametrize("ground", list(Ground))
def test_the_same_seed_gives_the_same_picture(ground: Ground) -> None:
    truth = scene(thing(1))
    assert np.array_equal(_painter(ground).paint(truth, 5), _painter(ground).paint(truth, 5))


@pytest.mark.parametrize(("colour", "strongest"), [("red", 0), ("green", 1), ("blue", 2)])
def test_an_object_has_its_colour_where_it_is_and_the_ground_elsewhere(colour: str, strongest: int) -> None:
    empty, full = (
        _painter().paint(scene(*things), 0) for things in ((), (thing(1, colour, at=(0.25, 0.5)),))
    )
    assert int(full[180, 160].argmax()) == strongest
    assert np.array_equal(full[:, 320:], empty[:, 320:])


def test_an_object_at_the_border_is_cut_and_one_outside_leaves_the_ground_alone() -> None:
    empty = _painter().paint(scene(), 0)
    cut = _painter().paint(scene(thing(1, at=(0.0, 0.5))), 0)
    outside = _painter().paint(scene(thing(1, at=(-0.5, 0.5))), 0)
    assert not np.array_equal(cut, empty)
    assert np.array_equal(outside, empty)


def test_shapes_have_the_parts_that_people_know_them_by() -> None:
    def inside(shape: ThingShape, x: float, y: float) -> bool:
        return bool(distance(shape, np.array([[x]]), np.array([[y]]), 1.0)[0, 0] < 0)

    assert all(inside(shape, 0, 0) for shape in ThingShape)
    assert inside(ThingShape.SQUARE, 0.8, 0.8)
    assert not inside(ThingShape.CIRCLE, 0.8, 0.8)
    assert inside(ThingShape.TRIANGLE, 0.8, 0.65)
    assert not inside(ThingShape.TRIANGLE, 0.8, -0.65)
    assert inside(ThingShape.CROSS, 0, -0.9)
    assert not inside(ThingShape.CROSS, 0.5, 0.5)


def test_an_object_looks_the_same_after_many_others() -> None:
    painter = _painter()
    before = painter.paint(scene(thing(1)), 0)
    for number in range(2, 200):
        painter.paint(scene(thing(number)), 0)
    assert np.array_equal(painter.paint(scene(thing(1)), 0), before)
