"""Rough colours, as a person would call them from a distance. Pure."""

import cv2
import numpy as np
from numpy.typing import NDArray

from core.records import Colour
from sampler.plane import Mask

Rgb = NDArray[np.uint8]

NAMES = tuple(Colour)
MIN_PIXELS = 12
MIN_SHARE = 0.4
LEAD = 1.3


def names_of(rgb: Rgb) -> NDArray[np.intp]:
    """Return for each pixel, shape (n, 3), the index of its colour in NAMES.

    Limits in hue, saturation and value; below a quarter of full brightness everything looks black, below a
    fifth of full saturation everything looks grey.
    """
    hsv = cv2.cvtColor(np.ascontiguousarray(rgb.reshape(-1, 1, 3)), cv2.COLOR_RGB2HSV).reshape(-1, 3)
    hue, saturation, value = (hsv[:, n].astype(np.int32) for n in range(3))
    index = {colour: n for n, colour in enumerate(NAMES)}
    by_hue = np.select(
        [hue < 8, hue < 20, hue < 34, hue < 86, hue < 130, hue < 158],
        [
            index[Colour.RED],
            index[Colour.ORANGE],
            index[Colour.YELLOW],
            index[Colour.GREEN],
            index[Colour.BLUE],
            index[Colour.PURPLE],
        ],
        index[Colour.RED],
    )
    by_hue = np.where((hue >= 6) & (hue < 30) & (value < 150), index[Colour.BROWN], by_hue)
    greyish = (saturation < 50) | ((value < 90) & (saturation < 90))
    grey = np.where(value > 165, index[Colour.WHITE], index[Colour.GREY])
    found = np.where(greyish, grey, by_hue)
    return np.asarray(np.where(value < 62, index[Colour.BLACK], found), dtype=np.intp)


class ColourVote:
    """Collect the colours of one thing over several frames and name the one that prevails."""

    def __init__(self) -> None:
        self._votes = np.zeros(len(NAMES), dtype=np.float64)
        self.rounds = 0

    def add(self, rgb: Rgb, inside: Mask, background: Rgb | None) -> None:
        """Count the pixels of ``rgb`` inside the mask that are neither background nor its shadow."""
        chosen = inside > 0
        if background is not None:
            chosen &= ~_shadow(rgb, background)
        if np.count_nonzero(chosen) < MIN_PIXELS:
            return
        self._votes += np.bincount(names_of(rgb[chosen]), minlength=len(NAMES))
        self.rounds += 1

    def result(self) -> Colour | None:
        """Return the prevailing colour, or None where it is mixed or nothing was counted."""
        total = float(self._votes.sum())
        if total <= 0:
            return None
        second, first = np.sort(self._votes)[-2:]
        if first < MIN_SHARE * total or first < LEAD * second:
            return None
        return NAMES[int(self._votes.argmax())]


def _shadow(rgb: Rgb, background: Rgb) -> NDArray[np.bool_]:
    """Return where a pixel looks like the background, or like the background with less light on it."""
    now, before = rgb.astype(np.float32) + 1, background.astype(np.float32) + 1
    ratio = now / before
    mean = ratio.mean(axis=2)
    spread = ratio.max(axis=2) - ratio.min(axis=2)
    return np.asarray((mean > 0.68) & (mean < 1.12) & (spread < 0.12))
