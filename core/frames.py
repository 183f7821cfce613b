"""A frame on its way from the camera to the window: decoded, kept, encoded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.ids import CameraId


class Picture(Protocol):
    """The pixels of one decoded frame. Nothing is converted until somebody asks, and only at the size asked."""

    @property
    def width_px(self) -> int: ...
    @property
    def height_px(self) -> int: ...

    def luma(self) -> NDArray[np.uint8]:
        """Return the brightness plane, shape (height, width), without copying where the format allows."""

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Return the picture scaled to exactly this size, shape (height, width, 3), 0-255 full range."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded picture. ``t_us`` is stream time; ``epoch`` counts unbroken connections of this camera."""

    camera_id: CameraId
    t_us: int
    epoch: int
    picture: Picture


class KeepReason(StrEnum):
    """Why the sampler kept a frame."""

    FIRST = "first"
    MOTION = "motion"
    SCENE_CHANGE = "scene_change"
    HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class Sample:
    """A frame the sampler kept. ``motion`` is the share of the picture that changed, 0 to 1."""

    camera_id: CameraId
    t_us: int
    epoch: int
    reason: KeepReason
    motion: float
    picture: Picture
    jpeg: bytes


class FeatureType(StrEnum):
    """How features are kept: raw 16-bit floats as the encoder made them, or int8 with a scale per token."""

    BF16 = "bf16"
    F16 = "f16"
    I8 = "i8"


class BadFeatures(ValueError):
    """Feature data whose length, shape or values cannot be what its header says."""


@dataclass(frozen=True, slots=True)
class Features:
    """All that is cached of one sample's picture: its vision tokens, as raw little-endian bits.

    Attributes:
        data: ``tokens * width`` values of ``dtype``, row by row.
        dtype: BF16 or F16 (2 bytes a value). I8 arrives with the published window.
        shape: (tokens, width). For Qwen3-VL the width is hidden × (1 + DeepStack layers).
        grid: (t, h, w) patches before merging; t is 1 for one frame.
        encoder_version: 12 hex digits that name encoder, processor settings and our format.
    """

    data: bytes
    dtype: FeatureType
    shape: tuple[int, int]
    grid: tuple[int, int, int]
    encoder_version: str

    def __post_init__(self) -> None:
        tokens, width = self.shape
        if tokens < 1 or width < 1:
            raise BadFeatures(f"features need at least one token and one column, got {self.shape}")
        if self.dtype is FeatureType.I8:
            raise BadFeatures("int8 features are not supported yet")
        if len(self.data) != tokens * width * 2:
            raise BadFeatures(
                f"{self.shape} of {self.dtype} takes {tokens * width * 2} bytes, got {len(self.data)}"
            )
        exponent = np.uint16(0x7F80 if self.dtype is FeatureType.BF16 else 0x7C00)
        # All exponent bits set means infinity or NaN; testing bits is ten times faster than np.isfinite.
        if bool(((self.bits() & exponent) == exponent).any()):
            raise BadFeatures("features hold values that are not finite")

    def bits(self) -> NDArray[np.uint16]:
        """Return the raw 16-bit patterns, shape (tokens, width), without copying."""
        return np.frombuffer(self.data, dtype="<u2").reshape(self.shape)

    @property
    def tokens(self) -> int:
        return self.shape[0]
