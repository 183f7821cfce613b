"""The small brightness plane that everything is measured on."""

import cv2
import numpy as np
from numpy.typing import NDArray

from core.frames import Picture

Plane = NDArray[np.float32]
Mask = NDArray[np.uint8]


def plane_size(width_px: int, height_px: int, side_px: int) -> tuple[int, int]:
    """Return (width, height) of the small plane for a picture of this size."""
    scale = min(1.0, side_px / max(width_px, height_px, 1))
    return max(8, round(width_px * scale)), max(8, round(height_px * scale))


def small_plane(picture: Picture, size: tuple[int, int]) -> Plane:
    """Return the picture's brightness at ``size`` (width, height), noise averaged away, values 0 to 255.

    The mean over each cell and a 3×3 blur leave a third of a grey level of a camera noise of 8 levels, and
    soften the block edges that H.264 draws.
    """
    small = cv2.resize(picture.luma(), size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.blur(small.astype(np.float32), (3, 3)), dtype=np.float32)


def gain_between(plane: Plane, reference: Plane) -> float:
    """Return how much brighter ``plane`` is than ``reference``, as the median ratio of a ninth of the pixels.

    The median is not moved by things that cover less than half of the picture.
    """
    now, before = plane[::3, ::3].ravel(), reference[::3, ::3].ravel()
    usable = (before > 12) & (before < 240) & (now < 250)  # neither black nor blown out says anything of gain
    if np.count_nonzero(usable) < 24:
        return 1.0
    return float(np.median(now[usable] / before[usable]))


def hysteresis(amount: Plane, weak: float | Plane, strong: float | Plane) -> Mask:
    """Return 1 where ``amount`` is above ``weak`` and hangs together with two pixels above ``strong``."""
    sure = amount > strong
    if np.count_nonzero(sure) < 2:
        return np.zeros(amount.shape, dtype=np.uint8)
    count, labels = cv2.connectedComponents((amount > weak).astype(np.uint8), connectivity=8)
    keep = (np.bincount(labels[sure], minlength=count) >= 2).astype(np.uint8)
    keep[0] = 0
    return np.asarray(keep[labels], dtype=np.uint8)


def edges(plane: Plane) -> Plane:
    """Return how strongly brightness changes around each pixel."""
    found = np.zeros_like(plane)
    found[:, 1:-1] += cv2.absdiff(plane[:, 2:], plane[:, :-2])
    found[1:-1, :] += cv2.absdiff(plane[2:, :], plane[:-2, :])
    return found
