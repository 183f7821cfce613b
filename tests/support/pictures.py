"""A picture made from an array, for tests of everything behind ``ingest``."""

import cv2
import numpy as np
from numpy.typing import NDArray


class ArrayPicture:
    """A ``core.frames.Picture`` over an RGB array (height, width, 3) or a grey one (height, width), 0-255."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3):
            raise ValueError(f"pixels must be uint8 of two or three axes, got {pixels.dtype} {pixels.shape}")
        self._pixels = pixels

    @property
    def width_px(self) -> int:
        return int(self._pixels.shape[1])

    @property
    def height_px(self) -> int:
        return int(self._pixels.shape[0])

    def luma(self) -> NDArray[np.uint8]:
        if self._pixels.ndim == 2:
            return self._pixels
        return np.asarray(cv2.cvtColor(self._pixels, cv2.COLOR_RGB2GRAY), dtype=np.uint8)

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        pixels = self._pixels
        if pixels.ndim == 2:
            pixels = np.repeat(pixels[:, :, None], 3, axis=2)
        if pixels.shape[:2] == (height_px, width_px):
            return pixels
        return np.asarray(
            cv2.resize(pixels, (width_px, height_px), interpolation=cv2.INTER_AREA), dtype=np.uint8
        )
