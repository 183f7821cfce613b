from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from models.builtin.grounds import drawn_ground

_SHAPE = (96, 171)
_DOWN, _ACROSS = np.mgrid[0 : 1 : _SHAPE[0] * 1j, 0 : 1 : _SHAPE[1] * 1j]
_EVERYWHERE = np.ones(_SHAPE, np.bool_)

Ground = Callable[[], NDArray[np.float64]]


def _noise(sigma: float) -> NDArray[np.float64]:
    return np.random.default_rng(1).normal(0, sigma, _SHAPE)


def _wave(height: float, down: float, across: float) -> NDArray[np.float64]:
    return height * np.sin(6.2832 * (down * _DOWN + across * _ACROSS) + 1)


@pytest.mark.parametrize(
    "ground",
    [
        lambda: 120 + 0 * _DOWN,
        lambda: 120 + 60 * (_DOWN - 0.5) - 60 * (_ACROSS - 0.5),
        lambda: 120 + _noise(4),
        lambda: 120 + _wave(14, 3.3, -20.6) + _wave(6, 12.2, 8.1) + _noise(1.5),
        lambda: 120 + _wave(9, 0.4, 0.7) + _wave(9, 7, 1) + _wave(9, -21.5, 3) + _wave(9, 2, -13),
        lambda: 120.0 - 18 * (np.floor(_ACROSS * 4.999) % 2),
    ],
    ids=["plain", "graded", "noisy", "two waves", "four waves, one of them slow", "boards"],
)
def test_what_scenes_are_drawn_with_is_a_ground(ground: Ground) -> None:
    assert drawn_ground(ground(), _EVERYWHERE)


@pytest.mark.parametrize(
    "ground",
    [
        lambda: 150 * (1 - 0.2 * ((2 * _DOWN - 1) ** 2 + (2 * _ACROSS - 1) ** 2) / 2),
        lambda: 120 + 60 * np.exp(-8 * ((_DOWN - 0.4) ** 2 + (_ACROSS - 0.3) ** 2)),
        lambda: 120.0 - 50 * (np.floor(_ACROSS * 4.999) % 2),
        lambda: 120.0 - 30 * (np.floor(_ACROSS * 7.999) % 2) * (np.floor(_DOWN * 4.999) % 2),
        lambda: 120 + 300 * (_ACROSS - 0.5),
        lambda: 120 + _noise(12),
        lambda: 120.0 + 60 * (np.random.default_rng(2).random(_SHAPE) < 0.02),
    ],
    ids=["vignette", "lamp", "stripes too strong", "tiles", "too steep", "too noisy", "dirt"],
)
def test_what_real_surfaces_show_is_none(ground: Ground) -> None:
    assert not drawn_ground(ground(), _EVERYWHERE)


def test_what_objects_cover_does_not_count() -> None:
    luma, ground = 120 + 0 * _DOWN, _EVERYWHERE.copy()
    luma[20:60, 30:80], ground[20:60, 30:80] = 30, False
    assert drawn_ground(luma, ground)
    assert not drawn_ground(luma, _EVERYWHERE)


def test_a_picture_that_is_nearly_all_black_or_white_says_nothing() -> None:
    assert not drawn_ground(0 * _DOWN, _EVERYWHERE)
    assert not drawn_ground(255 + 0 * _DOWN, _EVERYWHERE)


def test_a_steep_plane_may_be_cut_off_at_black_but_black_beside_grey_is_no_plane() -> None:
    assert drawn_ground(np.clip(38 + 90 * (_ACROSS - 0.5), 0, 255), _EVERYWHERE)
    assert not drawn_ground(np.where(_ACROSS < 0.5, 0.0, 60.0), _EVERYWHERE)
    assert not drawn_ground(np.where(_ACROSS < 0.3, 255.0, 140.0), _EVERYWHERE)
