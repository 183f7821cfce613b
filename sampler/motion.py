"""What moved in the last fifth of a second."""

from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np

from sampler.plane import Mask, Plane, gain_between, hysteresis

LAG_US = 180_000
STRONG = 14.0
WEAK = 7.0


@dataclass(frozen=True, slots=True)
class Motion:
    """Where the picture changed since the plane ``past``: ``mask`` is 1 there; ``share`` of it, 0 to 1."""

    mask: Mask
    share: float
    past: Plane


class MotionMeter:
    """Compare each plane with the one about 180 ms before it, as if both were exposed alike.

    A pixel moved when it differs by WEAK grey levels and hangs together with at least two that differ by
    STRONG. On real clips, quiet scenes stay below 7 (compression, keyframes, slow shadows) and anything that
    moves is above 40. Where a pixel keeps flickering, its own noise level raises both limits.
    """

    def __init__(self) -> None:
        self._past: deque[tuple[int, Plane]] = deque()
        self._noise: Plane | None = None
        self._last_us = 0

    def reset(self) -> None:
        """Forget the past pictures; noise levels stay."""
        self._past.clear()

    def push(self, t_us: int, plane: Plane) -> Motion:
        """Return what moved up to ``t_us``."""
        if self._past and self._past[-1][1].shape != plane.shape:
            self._past.clear()
            self._noise = None
        if not self._past:
            self._past.append((t_us, plane))
            self._last_us = t_us
            return Motion(np.zeros(plane.shape, dtype=np.uint8), 0.0, plane)
        self._past.append((t_us, plane))
        while len(self._past) > 2 and t_us - self._past[1][0] >= LAG_US:
            self._past.popleft()
        before = self._past[0][1]
        change = cv2.absdiff(plane, before * np.float32(gain_between(plane, before)))
        mask = self._moved(change)
        self._learn(t_us, change)
        return Motion(mask, float(np.count_nonzero(mask)) / mask.size, before)

    def _moved(self, change: Plane) -> Mask:
        if self._noise is None:
            return hysteresis(change, WEAK, STRONG)
        return hysteresis(change, np.maximum(self._noise * 1.5, WEAK), np.maximum(self._noise * 2.5, STRONG))

    def _learn(self, t_us: int, change: Plane) -> None:
        """Keep a slowly fading peak of each pixel's small changes; large ones are things, not noise."""
        small = np.where(change < STRONG * 1.5, change, np.float32(0))
        if self._noise is None:
            self._noise = small * np.float32(0.1)
        else:
            seconds = min(2.0, (t_us - self._last_us) / 1e6)
            toward = np.float32(1 - 0.5 ** (seconds / 4.0))
            self._noise += (small - self._noise) * toward
        self._last_us = t_us
