"""What moved in the last fifth of a second."""

from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np

from sampler.plane import Mask, Plane, gain_between, hysteresis

LAG_US = 180_000
STRONG = 14.0
WEAK = 7.0
SMALL = 21.0
GRAIN = 1.2  # median change of a picture up to which the limits hold as they are
GRAIN_S = 1.5
NOISE_S = 4.0
RESTLESS_S = 5.0
RESTLESS = 0.35  # of the time


@dataclass(frozen=True, slots=True)
class Motion:
    """Where the picture changed since the plane ``past``: ``mask`` is 1 there; ``share`` of it, 0 to 1.

    ``change`` is the absolute difference in grey levels, exposure taken out.
    """

    mask: Mask
    share: float
    past: Plane
    change: Plane


class MotionMeter:
    """Compare each plane with the one about 180 ms before it, as if both were exposed alike.

    A pixel moved when it differs by WEAK grey levels and hangs together with at least two that differ by
    STRONG; both rise with the grain of the whole picture. On real clips, quiet scenes stay below 7 (compression, keyframes, slow shadows) and anything that
    moves is above 40. Small changes raise a pixel's own limits; so do large ones where it changes most of the
    time without anything passing through: a screen, a flag, a tree in the wind.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self._past: deque[tuple[int, Plane]] = deque()
        self._noise: Plane = np.zeros(shape, dtype=np.float32)
        self._restless: Plane = np.zeros(shape, dtype=np.float32)
        self._grain = 0.0
        self._last_us: int | None = None

    def reset(self) -> None:
        """Forget the past pictures; noise levels stay."""
        self._past.clear()

    def push(self, t_us: int, plane: Plane) -> Motion:
        """Return what moved up to ``t_us``."""
        self._past.append((t_us, plane))
        while len(self._past) > 2 and t_us - self._past[1][0] >= LAG_US:
            self._past.popleft()
        before = self._past[0][1]
        if before is plane:
            none = np.zeros(plane.shape, dtype=np.float32)
            return Motion(none.astype(np.uint8), 0.0, plane, none)
        change = cv2.absdiff(plane, before * np.float32(gain_between(plane, before)))
        scale = np.float32(max(1.0, self._grain / GRAIN))
        weak, strong = (
            np.maximum(self._noise * 1.5, WEAK * scale),
            np.maximum(self._noise * 2.5, STRONG * scale),
        )
        mask = hysteresis(change, weak, strong)
        return Motion(mask, float(np.count_nonzero(mask)) / mask.size, before, change)

    def learn(self, t_us: int, motion: Motion, passing: Mask | None = None) -> None:
        """Adapt the limits of each pixel, but not by what is known to pass through (1 in ``passing``)."""
        seconds = 0.0 if self._last_us is None else min(2.0, (t_us - self._last_us) / 1e6)
        self._last_us = t_us
        change = motion.change
        self._restless += ((change > STRONG) - self._restless) * np.float32(1 - 0.5 ** (seconds / RESTLESS_S))
        self._grain += (float(np.median(change[::3, ::3])) - self._grain) * (1 - 0.5 ** (seconds / GRAIN_S))
        small = np.where(change < SMALL, change, np.float32(0))
        restless = self._restless > RESTLESS
        small[restless] = np.maximum(change, self._noise)[restless]
        if passing is not None:
            small[passing > 0] = 0
            self._restless[passing > 0] = 0
        self._noise += (small - self._noise) * np.float32(1 - 0.5 ** (seconds / NOISE_S))
