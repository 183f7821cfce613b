"""The small brightness plane."""

import numpy as np
import pytest

from sampler.plane import edges, gain_between, hysteresis, plane_size, small_plane
from tests.support.pictures import ArrayPicture


def test_the_plane_keeps_the_shape_of_the_picture() -> None:
    assert plane_size(1280, 720, 160) == (160, 90)
    assert plane_size(720, 1280, 160) == (90, 160)
    assert plane_size(100, 60, 160) == (100, 60)
    assert plane_size(4000, 1, 160) == (160, 8)


def test_camera_noise_nearly_vanishes() -> None:
    noise = np.random.default_rng(1).normal(120, 8, (720, 1280))
    plane = small_plane(ArrayPicture(np.clip(noise, 0, 255).astype(np.uint8)), (160, 90))
    assert plane.shape == (90, 160)
    assert plane.std() < 0.5


@pytest.mark.parametrize("gain", [0.6, 0.9, 1.3])
def test_gain_is_found_although_something_covers_a_third(gain: float) -> None:
    before = np.random.default_rng(2).uniform(40, 150, (90, 160)).astype(np.float32)
    now = before * np.float32(gain)
    now[:, :55] = 240
    assert gain_between(now, before) == pytest.approx(gain, rel=0.02)


def test_a_black_picture_says_nothing_of_gain() -> None:
    black = np.zeros((90, 160), dtype=np.float32)
    assert gain_between(black, black) == 1.0


def test_hysteresis_keeps_weak_pixels_only_beside_two_strong_ones() -> None:
    amount = np.zeros((20, 40), dtype=np.float32)
    amount[2:6, 2:6] = 12  # weak only
    amount[10:14, 10:14] = 12
    amount[11, 11] = 40  # one strong
    amount[2:6, 20:24] = 12
    amount[3, 21:23] = 40  # two strong
    found = hysteresis(amount, 10, 22)
    assert found.sum() == 16
    assert found[2:6, 20:24].all()


def test_edges_are_strong_where_brightness_steps() -> None:
    plane = np.full((20, 40), 50, dtype=np.float32)
    plane[:, 20:] = 150
    found = edges(plane)
    assert found[10, 20] == 100
    assert found[10, 5] == 0
