import numpy as np
import pytest
from numpy.typing import NDArray

from models.builtin.draw import distance
from models.builtin.silhouettes import Fit, best_shape, find_patches, outline
from models.builtin.things import ThingShape

_SHAPE = (96, 171)
_DOWN, _ACROSS = np.mgrid[0:96, 0:171] + 0.5


def _share(shape: ThingShape, x: float, y: float, radius: float, turn: float = 0.0) -> NDArray[np.float64]:
    across, down, cos, sin = _ACROSS - x, _DOWN - y, np.cos(turn), np.sin(turn)
    off = distance(shape, across * cos + down * sin, down * cos - across * sin, radius)
    return np.clip(0.5 - off, 0, 1)


def _fit(share: NDArray[np.float64]) -> Fit | None:
    (patch,) = find_patches(share > 0.5) or ()
    around = patch.around(4)
    return best_shape(share[around], patch, around=around, good_px=0.5)


def test_patches_are_connected_by_sides_whatever_way_they_join() -> None:
    mask = np.zeros((6, 8), np.bool_)
    mask[1:3, 1:3] = mask[3:5, 3:5] = True
    mask[0:2, 5], mask[0:4, 7], mask[4, 6:8] = True, True, True
    found = find_patches(mask)
    assert found is not None
    boxes = [(p.top, p.bottom, p.left, p.right, p.area_px) for p in found]
    assert boxes == [(0, 2, 5, 6, 2), (0, 5, 6, 8, 6), (1, 3, 1, 3, 4), (3, 5, 3, 5, 4)]
    assert [p.touches() for p in found][:2] == [(True, False, False, False), (True, False, False, True)]


def test_no_patches_is_an_answer_and_far_too_many_are_none() -> None:
    assert find_patches(np.zeros(_SHAPE, np.bool_)) == []
    assert find_patches(np.indices(_SHAPE).sum(axis=0) % 2 == 0) is None


def test_the_outline_is_found_between_pixels_and_the_border_is_none() -> None:
    share = np.zeros((4, 6))
    share[:, :3], share[:, 3] = 1.0, 0.25
    points = outline(share)
    assert points[:, 0] == pytest.approx([2.5 + 2 / 3] * 4)
    assert points[:, 1].tolist() == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize("shape", list(ThingShape))
@pytest.mark.parametrize("radius", [9.0, 19.0])
def test_each_shape_is_known_with_its_size_when_slightly_turned(shape: ThingShape, radius: float) -> None:
    fit = _fit(_share(shape, 80.3, 48.7, radius, turn=0.13))
    assert fit is not None
    assert fit.shape is shape
    assert fit.error_px < 0.5
    assert fit.radius_px == pytest.approx(radius, abs=0.5)


@pytest.mark.parametrize("shape", list(ThingShape))
@pytest.mark.parametrize(
    "place", [(0, 48), (-0.5, 40), (0.6, 50), (171, 30), (60, 0), (90, 96)], ids=lambda place: f"{place}"
)
def test_a_shape_cut_by_the_border_is_still_a_shape(shape: ThingShape, place: tuple[float, float]) -> None:
    fit = _fit(_share(shape, *place, 16.0, turn=-0.1))
    assert fit is not None
    assert fit.error_px < 0.8


@pytest.mark.parametrize(
    "share",
    [
        np.clip(14 - np.hypot((_ACROSS - 80) * 0.6, _DOWN - 48) + 0.5, 0, 1),
        np.clip(14 - np.abs(_ACROSS - 80) - np.abs(_DOWN - 48) + 0.5, 0, 1),
        _share(ThingShape.CIRCLE, 80, 48, 16) - _share(ThingShape.CIRCLE, 80, 48, 6),
        _share(ThingShape.CIRCLE, 80, 48, 16) * (_ACROSS > 80),
        _share(ThingShape.SQUARE, 80, 48, 34),
        _share(ThingShape.CIRCLE, 80, 48, 4),
    ],
    ids=["ellipse", "diamond", "ring", "half circle in the middle", "too large", "too small"],
)
def test_other_outlines_are_far_off(share: NDArray[np.float64]) -> None:
    fit = _fit(share)
    assert fit is None or fit.error_px > 1.3


def test_too_little_outline_to_judge_is_no_fit() -> None:
    speck = np.zeros(_SHAPE)
    speck[40, 60] = 1.0
    assert _fit(speck) is None
