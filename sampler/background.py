"""What the scene looks like with nothing in it, and where the picture differs from that."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sampler.plane import Mask, Plane, gain_between, hysteresis

WEAK = 10.0
STRONG = 22.0
LEARN_S = 3.0
BINS = 16


@dataclass(frozen=True, slots=True)
class Difference:
    """One plane against the background.

    Attributes:
        expected: The background as the camera would show it at the present exposure.
        amount: Absolute difference in grey levels.
        mask: 1 where something is in front of the background.
        gain: Present exposure over that of the background.
    """

    expected: Plane
    amount: Plane
    mask: Mask
    gain: float


class Background:
    """A slow reference picture, learned only where nothing is in front of it.

    Exposure is taken out before comparing: a white car makes the camera darken everything by 40 % within a
    second (measured on a real clip), not by one factor but by a curve, so bright and dark levels are fitted
    apart. The first plane is the first reference, with whatever stands in it; once that has gone, ``absorb``
    repairs the hole.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._reference: Plane = np.zeros(shape, dtype=np.float32)
        self._front: Mask = np.zeros(shape, dtype=np.uint8)
        self._last_us: int | None = None
        self._empty = True

    @property
    def reference(self) -> Plane:
        """The scene with nothing in it. Do not change it."""
        return self._reference

    def compare(self, plane: Plane) -> Difference:
        """Return where ``plane`` differs from the background."""
        if self._empty:
            self.replace(plane)
        gain, curve = self._exposure(plane)
        levels = np.clip(self._reference, 0, 255).astype(np.uint8)
        expected = np.asarray(cv2.LUT(levels, curve), dtype=np.float32)
        amount = np.asarray(cv2.absdiff(plane, expected), dtype=np.float32)
        self._front = hysteresis(amount, WEAK, STRONG)
        return Difference(expected, amount, self._front, gain)

    def learn(self, t_us: int, plane: Plane, difference: Difference) -> None:
        """Move the reference toward ``plane`` where nothing is in front."""
        seconds = 0.0 if self._last_us is None else min(1.0, (t_us - self._last_us) / 1e6)
        self._last_us = t_us
        rate = np.float32((1 - 0.5 ** (seconds / LEARN_S)) / max(difference.gain, 0.2))
        front = cv2.dilate(difference.mask, np.ones((5, 5), dtype=np.uint8))
        step = (plane - difference.expected) * rate
        step[front > 0] = 0
        self._reference += step

    def replace(self, plane: Plane) -> None:
        """Take ``plane`` as the scene with nothing in it."""
        self._empty = False
        self._reference = plane.copy()
        self._front = np.zeros(plane.shape, dtype=np.uint8)

    def absorb(self, region: Mask, plane: Plane, difference: Difference) -> None:
        """Take what stands in ``region`` as background from now on."""
        inside = region > 0
        self._reference[inside] += (plane - difference.expected)[inside] / max(difference.gain, 0.2)
        np.clip(self._reference, 0, 255, out=self._reference)
        self._front[inside] = 0

    def _exposure(self, plane: Plane) -> tuple[float, NDArray[np.float32]]:
        """Return the gain, and the present level for each of the reference's 256 levels."""
        reference = self._reference[::2, ::2].ravel()
        now = plane[::2, ::2].ravel()
        gain = gain_between(plane, self._reference)
        levels = np.arange(256, dtype=np.float32)
        off = now - reference * np.float32(gain)
        usable = (self._front[::2, ::2].ravel() == 0) & (np.abs(off) < 40)
        bins = np.minimum(reference[usable], 255).astype(np.intp) * BINS // 256
        count = np.bincount(bins, minlength=BINS)
        lift = np.bincount(bins, weights=off[usable], minlength=BINS) / (count + 20)
        centre = np.bincount(bins, weights=reference[usable], minlength=BINS) / np.maximum(count, 1)
        seen = count > 0
        if not seen.any():
            return gain, levels * np.float32(gain)
        curve = levels * gain + np.interp(levels, centre[seen], lift[seen])
        return gain, np.clip(curve, 0, 255).astype(np.float32)
