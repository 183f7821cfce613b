"""What stands still long enough to belong to the background."""

import numpy as np
import pytest

from sampler.background import Background
from sampler.blobs import find_blobs
from sampler.leftovers import StillThings, is_hole
from sampler.plane import Mask, Plane

EMPTY = np.kron(np.random.default_rng(4).uniform(90, 130, (9, 16)), np.ones((10, 10))).astype(np.float32)
FULL = EMPTY.copy()
FULL[30:70, 60:80] = 220
STILL = np.zeros((90, 160), dtype=np.uint8)


def taken_after_s(background: Plane, now: Plane, *, followed: bool, stirs_every_s: float = 1e9) -> float:
    """Return after how many seconds the piece is taken over, 99 for never within 40 s."""
    model, things = Background((90, 160)), StillThings((90, 160))
    model.compare(background)
    for n in range(400):
        difference = model.compare(now)
        moved: Mask = STILL.copy()
        if n and (n / 10) % stirs_every_s == 0:
            moved[40:44, 65:70] = 1
        blobs, labels = find_blobs(difference.mask, moved)
        region = things.push(
            1_000_000 + n * 100_000,
            now,
            difference=difference,
            blobs=blobs,
            labels=labels,
            moved=moved,
            followed={blob.label for blob in blobs} if followed else (),
        )
        if region is not None:
            assert region[30:70, 60:80].all()
            return n / 10
    return 99.0


def test_a_hole_is_taken_over_after_a_second_even_when_followed() -> None:
    assert 1.0 <= taken_after_s(FULL, EMPTY, followed=True) <= 1.4


def test_a_thing_put_down_that_nobody_follows_is_taken_over_after_two_seconds() -> None:
    assert 2.0 <= taken_after_s(EMPTY, FULL, followed=False) <= 2.4


def test_a_thing_that_is_followed_may_stand_still_for_twenty_seconds() -> None:
    assert 20.0 <= taken_after_s(EMPTY, FULL, followed=True) <= 20.4


def test_what_stirs_now_and_then_is_never_taken_over() -> None:
    assert taken_after_s(EMPTY, FULL, followed=True, stirs_every_s=8.0) == 99.0


@pytest.mark.parametrize(("picture", "background", "expected"), [(EMPTY, FULL, True), (FULL, EMPTY, False)])
def test_an_outline_in_the_background_only_is_a_hole(
    picture: Plane, background: Plane, expected: bool
) -> None:
    inside = np.zeros((90, 160), dtype=bool)
    inside[30:70, 60:80] = True
    assert is_hole(inside, picture, background) is expected
