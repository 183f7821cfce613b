"""What the scene looks like with nothing in it."""

import numpy as np

from sampler.background import Background
from sampler.plane import Plane

RNG = np.random.default_rng(8)
SCENE = np.kron(RNG.uniform(30, 200, (9, 16)), np.ones((10, 10))).astype(np.float32)


def with_thing(plane: Plane, level: float = 240) -> Plane:
    found = plane.copy()
    found[30:70, 60:80] = level
    return found


def seen(background: Background, plane: Plane, *, at_us: int = 0) -> np.ndarray:
    difference = background.compare(plane)
    background.learn(at_us, plane, difference)
    return difference.mask


def test_the_first_plane_is_the_first_background() -> None:
    assert not seen(Background((90, 160)), SCENE).any()


def test_what_comes_into_the_scene_is_in_front() -> None:
    background = Background((90, 160))
    seen(background, SCENE)
    mask = seen(background, with_thing(SCENE))
    assert mask[32:68, 62:78].mean() > 0.9
    mask[28:72, 58:82] = 0
    assert not mask.any()


def test_exposure_that_follows_a_curve_is_taken_out() -> None:
    background = Background((90, 160))
    seen(background, SCENE)
    for n in range(20):  # gamma and gain change together, as when a white car fills the picture
        darker = 255 * (SCENE / 255) ** (1 + 0.02 * n) * (1 - 0.015 * n)
        mask = seen(background, with_thing(darker.astype(np.float32)), at_us=n * 80_000)
        assert mask[32:68, 62:78].mean() > 0.9, n
        mask[28:72, 58:82] = 0
        assert not mask.any(), n


def test_slow_light_is_learned() -> None:
    background = Background((90, 160))
    slope = np.linspace(0, 60, 160, dtype=np.float32)
    for n in range(600):
        mask = seen(background, SCENE + slope * (n / 600), at_us=n * 100_000)
        assert not mask.any(), n


def test_what_stands_in_front_is_not_learned() -> None:
    background = Background((90, 160))
    seen(background, SCENE)
    for n in range(300):
        mask = seen(background, with_thing(SCENE), at_us=n * 100_000)
    assert mask[32:68, 62:78].mean() > 0.9


def test_what_is_absorbed_is_background_from_then_on_at_any_exposure() -> None:
    background = Background((90, 160))
    seen(background, SCENE)
    plane = with_thing(SCENE * np.float32(0.8), 150)
    difference = background.compare(plane)
    background.absorb(difference.mask, plane, difference)
    assert not seen(background, plane).any()
    assert not seen(background, with_thing(SCENE, 150 / 0.8)).any()


def test_a_replaced_background_forgets_the_old_one() -> None:
    background = Background((90, 160))
    seen(background, SCENE)
    background.replace(SCENE[::-1].copy())
    assert not seen(background, SCENE[::-1].copy()).any()
