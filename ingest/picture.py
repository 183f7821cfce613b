"""A decoded frame as a picture: nothing is converted until asked for, and only at the size asked."""

import threading
from typing import Any

import numpy as np
from av.video.reformatter import ColorRange, Interpolation, VideoReformatter
from numpy.typing import NDArray

_LUMA_FIRST = frozenset(
    f"yuv{full}{sampling}p" for full in ("", "j") for sampling in ("420", "422", "444", "440", "411", "410")
) | {"nv12", "nv21", "nv16", "nv24", "gray", "yuva420p", "yuva422p", "yuva444p"}
"""Formats whose plane 0 is brightness, one byte a pixel."""

_mine = threading.local()


class AvPicture:
    """A ``core.frames.Picture`` over one frame of PyAV's; keeps that frame's memory while it lives."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Any) -> None:  # av.VideoFrame; the type checker skips PyAV
        self._frame = frame

    @property
    def width_px(self) -> int:
        return int(self._frame.width)

    @property
    def height_px(self) -> int:
        return int(self._frame.height)

    def luma(self) -> NDArray[np.uint8]:
        """Return brightness as coded (16-235 in limited-range video); a view where the format allows."""
        frame = self._frame
        if frame.format.name not in _LUMA_FIRST:
            frame = _converted(frame, frame.width, frame.height, "gray", Interpolation.BILINEAR)
        plane = frame.planes[0]
        lines = np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)
        view = lines[: frame.height, : frame.width]
        view.flags.writeable = False
        return view

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Return the picture at exactly this size; averaged over areas where it is made smaller."""
        smaller = width_px < self._frame.width or height_px < self._frame.height
        way = Interpolation.AREA if smaller else Interpolation.BICUBIC
        if (width_px, height_px) == (self._frame.width, self._frame.height):
            way = Interpolation.BILINEAR
        frame = _converted(self._frame, width_px, height_px, "rgb24", way)
        return np.asarray(frame.to_ndarray(), dtype=np.uint8)


def _converted(frame: Any, width_px: int, height_px: int, pixel_format: str, way: int) -> Any:
    """Scale and convert in one go, with a converter that this thread keeps for its next frame."""
    converter: VideoReformatter | None = getattr(_mine, "converter", None)
    if converter is None:
        converter = _mine.converter = VideoReformatter()
    exact = Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
    return converter.reformat(
        frame,
        width_px,
        height_px,
        pixel_format,
        interpolation=int(way | exact),
        dst_color_range=ColorRange.JPEG,
        threads=1,
    )
