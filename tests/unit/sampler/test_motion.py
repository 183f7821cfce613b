"""What moved in the last fifth of a second."""

import numpy as np

from sampler.motion import MotionMeter
from sampler.plane import Plane, small_plane
from tests.support.pictures import ArrayPicture

RNG = np.random.default_rng(5)
ROOM = np.kron(RNG.uniform(40, 180, (9, 16)), np.ones((40, 40)))


def plane_of(pixels: np.ndarray, noise: float = 6.0) -> Plane:
    noisy = pixels + RNG.normal(0, noise, pixels.shape)
    return small_plane(ArrayPicture(np.clip(noisy, 0, 255).astype(np.uint8)), (160, 90))


def test_camera_noise_is_no_motion() -> None:
    meter = MotionMeter()
    assert all(meter.push(n * 40_000, plane_of(ROOM, 10)).share == 0 for n in range(50))


def test_exposure_that_drifts_is_no_motion() -> None:
    meter = MotionMeter()
    assert all(meter.push(n * 40_000, plane_of(ROOM * (1 - 0.008 * n))).share == 0 for n in range(50))


def test_keyframes_that_pump_are_no_motion() -> None:
    meter = MotionMeter()
    pumped = ROOM + np.kron(RNG.uniform(-6, 6, (45, 80)), np.ones((8, 8)))
    for n in range(100):
        assert meter.push(n * 40_000, plane_of(pumped if n % 50 < 3 else ROOM, 2)).share == 0


def test_a_small_thing_far_away_is_motion() -> None:
    meter = MotionMeter()
    shares = []
    for n in range(25):
        picture = ROOM.copy()
        picture[150:173, 200 + n * 3 : 208 + n * 3] = 20  # 8 by 23 of 640 by 360 pixels
        shares.append(meter.push(n * 40_000, plane_of(picture)).share)
    assert all(share > 0 for share in shares[8:])
    assert max(shares) < 0.02


def test_a_spot_that_keeps_flickering_stops_counting() -> None:
    meter = MotionMeter()
    shares = []
    for n in range(400):
        picture = ROOM.copy()
        picture[50:70, 50:70] += 15 * (n // 5 % 2)
        shares.append(meter.push(n * 40_000, plane_of(picture, 1)).share)
    assert sum(share > 0 for share in shares[-50:]) == 0


def test_another_picture_size_begins_anew() -> None:
    meter = MotionMeter()
    meter.push(0, np.full((90, 160), 50, dtype=np.float32))
    assert meter.push(40_000, np.full((120, 160), 200, dtype=np.float32)).share == 0
