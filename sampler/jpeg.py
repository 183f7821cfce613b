"""Pictures as JPEG."""

import cv2
import numpy as np
from numpy.typing import NDArray

from core.frames import Picture
from sampler.errors import PictureRefused


def encode_jpeg(rgb: NDArray[np.uint8], quality: int) -> bytes:
    """Return ``rgb``, shape (height, width, 3), as a baseline JPEG. Raises PictureRefused."""
    try:
        bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
        done, data = cv2.imencode(".jpg", bgr, (cv2.IMWRITE_JPEG_QUALITY, quality))
    except cv2.error as error:
        raise PictureRefused(str(error)) from error
    if not done:
        raise PictureRefused(f"no JPEG from a picture of shape {rgb.shape}")
    return bytes(data)


def fitted_size(picture: Picture, max_side_px: int) -> tuple[int, int]:
    """Return (width, height) of the picture scaled down, never up, to a long side of ``max_side_px``."""
    width, height = picture.width_px, picture.height_px
    scale = min(1.0, max_side_px / max(width, height, 1))
    return max(1, round(width * scale)), max(1, round(height * scale))
