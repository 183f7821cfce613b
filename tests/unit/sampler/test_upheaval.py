"""Changes of the whole picture."""

import cv2
import numpy as np
import pytest

from core.records import SceneChangeKind
from sampler.background import Background
from sampler.motion import MotionMeter
from sampler.plane import Plane
from sampler.upheaval import SceneWatch

RNG = np.random.default_rng(6)
ROOM = cv2.blur(np.kron(RNG.uniform(40, 200, (12, 20)), np.ones((8, 8))).astype(np.float32), (3, 3))[:90]
OTHER = ROOM[::-1, ::-1].copy()
HAND = np.full_like(ROOM, 25)


def after(*parts: tuple[int, Plane]) -> list[tuple[SceneChangeKind, float]]:
    """Show each plane for so many tenths of a second; return the changes with their seconds."""
    shape = (ROOM.shape[0], ROOM.shape[1])
    watch, meter, background = SceneWatch(), MotionMeter(shape), Background(shape)
    found, n = [], 0
    for tenths, plane in parts:
        for _ in range(tenths):
            t_us = n * 100_000
            noisy = (plane + RNG.normal(0, 0.4, plane.shape)).astype(np.float32)
            motion = meter.push(t_us, noisy)
            meter.learn(t_us, motion)
            difference = background.compare(noisy)
            verdict = watch.push(
                t_us,
                noisy,
                past=motion.past,
                background=background.reference,
                difference=difference,
                moved_share=motion.share,
            )
            if verdict is not None and verdict.change is not None:
                found.append((verdict.change.kind, verdict.change.start_us / 1e6))
                background.replace(verdict.background)
            elif not watch.unsettled:
                background.learn(t_us, noisy, difference)
            n += 1
    return found


def test_a_light_that_goes_out_and_on_again() -> None:
    assert after((20, ROOM), (30, ROOM * np.float32(0.35)), (30, ROOM)) == [
        (SceneChangeKind.LIGHT_OFF, 2.0),
        (SceneChangeKind.LIGHT_ON, 5.0),
    ]


def test_a_lamp_that_lights_one_side_is_a_light_too() -> None:
    lamp = ROOM * np.linspace(0.35, 0.85, ROOM.shape[1], dtype=np.float32)
    assert [kind for kind, _ in after((20, ROOM), (30, lamp))] == [SceneChangeKind.LIGHT_OFF]


def test_a_dark_room_is_no_cover() -> None:
    assert [kind for kind, _ in after((20, ROOM), (30, ROOM * np.float32(0.03)))] == [
        SceneChangeKind.LIGHT_OFF
    ]


@pytest.mark.parametrize("shift", [(0, 4), (3, 0), (6, 20)])
def test_a_push_is_a_moved_camera(shift: tuple[int, int]) -> None:
    assert after((20, ROOM), (30, np.roll(ROOM, shift, (0, 1)))) == [(SceneChangeKind.CAMERA_MOVED, 2.0)]


def test_another_view_is_a_moved_camera() -> None:
    assert after((20, ROOM), (30, OTHER)) == [(SceneChangeKind.CAMERA_MOVED, 2.0)]


def swept(to: Plane, start: Plane) -> list[tuple[int, Plane]]:
    steps = []
    for n in range(1, 6):
        plane = start.copy()
        plane[:, : ROOM.shape[1] * n // 5] = to[:, : ROOM.shape[1] * n // 5]
        steps.append((1, plane))
    return steps


def test_a_camera_that_is_covered_and_uncovered() -> None:
    found = after((20, ROOM), *swept(HAND, ROOM), (30, HAND), *swept(ROOM, HAND), (30, ROOM))
    assert [kind for kind, _ in found] == [
        SceneChangeKind.CAMERA_COVERED,
        SceneChangeKind.CAMERA_UNCOVERED,
    ]


def test_a_large_thing_that_passes_is_no_change() -> None:
    steps = []
    for n in range(-10, 34):
        plane = ROOM.copy()
        plane[10:80, max(0, n * 5) : max(0, n * 5 + 50)] = 230
        steps.append((1, plane))
    assert after((20, ROOM), *steps, (30, ROOM)) == []


def test_exposure_that_drifts_is_no_change() -> None:
    assert after((20, ROOM), *[(1, ROOM * np.float32(1 - 0.02 * n)) for n in range(25)]) == []


def test_a_flash_is_no_change() -> None:
    assert after((20, ROOM), (2, ROOM * np.float32(1.9)), (30, ROOM)) == []


def test_after_a_reset_nothing_is_open() -> None:
    watch = SceneWatch()
    watch.reset()
    assert (watch.unsettled, watch.covered) == (False, False)
