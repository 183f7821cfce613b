"""What stands still in front of the background long enough to belong to it. Pure."""

from collections.abc import Container

import cv2
import numpy as np
from numpy.typing import NDArray

from sampler.background import Difference
from sampler.blobs import Blob, Labels
from sampler.plane import Mask, Plane

HOLE_US = 1_000_000
LOOSE_US = 2_000_000
HELD_US = 20_000_000
LOOK_US = 300_000
GROW = np.ones((3, 3), dtype=np.uint8)
NEAR = (5, 5)


class StillThings:
    """Tell what has come to stay: a hole where something was taken away, a thing put down, a light patch.

    A piece that no longer moves is taken over after a second where its outline shows in the background and
    not in the picture: a hole. Another piece that nobody follows is taken over after two seconds, one that is followed
    (somebody who stands still) after twenty.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._moved_us = np.zeros(shape, dtype=np.int64)
        self._looked_us = 0

    def reset(self, t_us: int) -> None:
        """Begin anew: everything counts as having moved just now."""
        self._moved_us[:] = self._looked_us = t_us

    def push(
        self,
        t_us: int,
        plane: Plane,
        *,
        difference: Difference,
        blobs: list[Blob],
        labels: Labels,
        moved: Mask,
        followed: Container[int],
    ) -> Mask | None:
        """Return the pixels to take over as background now, or None. ``followed`` are labels of tracks."""
        if self._looked_us == 0:
            self.reset(t_us)
        if moved.any():
            self._moved_us[cv2.dilate(moved, GROW) > 0] = t_us
        if t_us - self._looked_us < LOOK_US or not blobs:
            return None
        self._looked_us = t_us
        region = np.zeros(labels.shape, dtype=np.uint8)
        for blob in blobs:
            inside = labels == blob.label
            still_us = t_us - int(self._moved_us[inside].max())
            if still_us < HOLE_US:
                continue
            limit_us = HELD_US if blob.label in followed else LOOSE_US
            if still_us >= limit_us or is_hole(inside, plane, difference.expected):
                region[inside] = 1
        return cv2.dilate(region, GROW) if region.any() else None


def is_hole(inside: NDArray[np.bool_], plane: Plane, expected: Plane) -> bool:
    """Return whether the outline of a piece shows in the background rather than in the picture.

    On real clips the ratio is above 7 where a bottle was taken away or somebody left who had stood there
    from the start, and below 0.3 for bottles put down and people standing; near 1 for both at once.
    """
    return _outline(inside, expected) > 1.5 * _outline(inside, plane)


def _outline(inside: NDArray[np.bool_], plane: Plane) -> float:
    """Return the mean step in brightness across the outline; edges that only cross it cancel out."""
    within = inside.astype(np.float32)
    without = 1 - within
    at = (cv2.dilate(within, GROW) > 0) & (cv2.erode(within, GROW) == 0)
    inner = cv2.boxFilter(plane * within, -1, NEAR) / np.maximum(cv2.boxFilter(within, -1, NEAR), 1e-3)
    outer = cv2.boxFilter(plane * without, -1, NEAR) / np.maximum(cv2.boxFilter(without, -1, NEAR), 1e-3)
    return float(cv2.absdiff(inner, outer)[at].mean())
