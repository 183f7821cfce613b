"""Connected pieces of what is in front of the background."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sampler.plane import Mask

Labels = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels of the plane, right and bottom not included."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    @property
    def area(self) -> float:
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)

    def moved(self, dx: float, dy: float) -> "Box":
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def grown(self, by: float) -> "Box":
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def union(self, other: "Box") -> "Box":
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def overlap(self, other: "Box") -> float:
        """Return the shared area in pixels."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)

    def likeness(self, other: "Box") -> float:
        """Return intersection over union, 0 to 1."""
        shared = self.overlap(other)
        return shared / max(self.area + other.area - shared, 1e-6)

    def distance(self, other: "Box") -> float:
        """Return the gap between both in pixels, 0 where they touch."""
        dx = max(self.left - other.right, other.left - self.right, 0.0)
        dy = max(self.top - other.bottom, other.top - self.bottom, 0.0)
        return float(np.hypot(dx, dy))


@dataclass(frozen=True, slots=True)
class Blob:
    """One connected piece.

    Attributes:
        label: Its number in the label plane that it came with.
        area: Pixels in front of the background.
        moving: Pixels of it that moved just now.
    """

    label: int
    box: Box
    area: int
    moving: int


MIN_AREA = 6
CLOSE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))


def find_blobs(front: Mask, moved: Mask) -> tuple[list[Blob], Labels]:
    """Return the pieces of ``front`` that are large enough, and the plane that numbers them.

    Small breaks are closed first, so that a leg behind a table leg stays part of one piece.
    """
    if not front.any():
        return [], np.zeros(front.shape, dtype=np.int32)
    closed = cv2.morphologyEx(front, cv2.MORPH_CLOSE, CLOSE)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    area = np.bincount(labels.ravel(), weights=front.ravel(), minlength=count)
    moving = np.bincount(labels.ravel(), weights=moved.ravel(), minlength=count)
    found = []
    for label in range(1, count):
        if area[label] < MIN_AREA:
            continue
        left, top, width, height = (int(v) for v in stats[label, :4])
        box = Box(left, top, left + width, top + height)
        found.append(Blob(label, box, int(area[label]), int(moving[label])))
    return found, np.asarray(labels, dtype=np.int32)
