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


def watch(meter: MotionMeter, t_us: int, plane: Plane, passing: np.ndarray | None = None) -> float:
    motion = meter.push(t_us, plane)
    meter.learn(t_us, motion, passing)
    return motion.share


def test_camera_noise_is_no_motion() -> None:
    meter = MotionMeter((90, 160))
    assert all(watch(meter, n * 40_000, plane_of(ROOM, 10)) == 0 for n in range(50))


def test_exposure_that_drifts_is_no_motion() -> None:
    meter = MotionMeter((90, 160))
    assert all(watch(meter, n * 40_000, plane_of(ROOM * (1 - 0.008 * n))) == 0 for n in range(50))


def test_keyframes_that_pump_are_no_motion() -> None:
    meter = MotionMeter((90, 160))
    pumped = ROOM + np.kron(RNG.uniform(-6, 6, (45, 80)), np.ones((8, 8)))
    for n in range(100):
        assert watch(meter, n * 40_000, plane_of(pumped if n % 50 < 3 else ROOM, 2)) == 0


def test_a_small_thing_far_away_is_motion() -> None:
    meter = MotionMeter((90, 160))
    shares = []
    for n in range(25):
        picture = ROOM.copy()
        picture[150:173, 200 + n * 3 : 208 + n * 3] = 20  # 8 by 23 of 640 by 360 pixels
        shares.append(watch(meter, n * 40_000, plane_of(picture)))
    assert all(share > 0 for share in shares[8:])
    assert max(shares) < 0.02


def flicker(n: int) -> Plane:
    picture = ROOM.copy()
    picture[50:90, 50:110] += 60 * (n // 2 % 2)
    return plane_of(picture, 1)


def test_a_spot_that_keeps_flickering_stops_counting() -> None:
    meter = MotionMeter((90, 160))
    shares = [watch(meter, n * 100_000, flicker(n)) for n in range(150)]
    assert min(shares[2:10]) > 0
    assert max(shares[-50:]) == 0


def test_where_things_pass_through_the_limits_stay_low() -> None:
    meter = MotionMeter((90, 160))
    passing = np.ones((90, 160), dtype=np.uint8)
    shares = [watch(meter, n * 100_000, flicker(n), passing) for n in range(120)]
    assert min(shares[-50:]) > 0


def test_after_a_reset_the_next_plane_is_compared_with_nothing() -> None:
    meter = MotionMeter((90, 160))
    watch(meter, 0, np.full((90, 160), 50, dtype=np.float32))
    meter.reset()
    assert watch(meter, 40_000, np.full((90, 160), 200, dtype=np.float32)) == 0
