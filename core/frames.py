"""A frame on its way from the camera to the window: decoded, kept, encoded."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

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
    """How features are kept: raw 16-bit floats as the encoder made them, or int8 with a scale per token.

    ``I8`` was made of BF16 and ``I8_OF_F16`` of F16; the window widens them again before anybody reads them.
    """

    BF16 = "bf16"
    F16 = "f16"
    I8 = "i8"
    I8_OF_F16 = "i8f16"

    @property
    def narrow(self) -> bool:
        """Return whether values take 8 bits."""
        return self in (FeatureType.I8, FeatureType.I8_OF_F16)


class BadFeatures(ValueError):
    """Feature data whose length, shape or values cannot be what its header says."""


class FarBytes(ABC):
    """Bytes that lie on a device, such as a GPU, and not in this process's memory.

    They stay as they are for as long as this is held. ``len`` counts them. Comparing copies them to memory.
    """

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def room_bytes(self) -> int:
        """Return the bytes they take on the device, never fewer than they are."""

    @abstractmethod
    def near(self) -> bytes | memoryview:
        """Return a copy in memory. Raises a ServiceError where the device does not give them."""

    @abstractmethod
    def on(self, device: str) -> Any | None:  # Any: a torch tensor, which only those know who compute
        """Return a copy as a flat torch tensor of uint8, made on ``device``; None where they lie on another.

        Raises a ServiceError where the device does not give them.
        """

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FarBytes):
            return self is other or self.near() == other.near()
        return self.near() == other if isinstance(other, bytes | memoryview) else NotImplemented

    def __hash__(self) -> int:
        return hash(bytes(self.near()))


@dataclass(frozen=True, slots=True)
class Features:
    """All that is cached of one sample's picture: its vision tokens, as raw little-endian bits.

    Attributes:
        data: ``tokens * width`` values of ``dtype``, row by row; a view where they are part of a larger value.
            Behind int8 values one scale per token, as 32-bit floats above 0. On a device they were checked before.
        dtype: BF16 or F16 (2 bytes a value), or one of the narrow ones (1 byte a value, 4 bytes a token).
        shape: (tokens, width). For Qwen3-VL the width is hidden × (1 + DeepStack layers).
        grid: (t, h, w) patches before merging; t is 1 for one frame.
        encoder_version: 12 hex digits that name encoder, processor settings and our format.
    """

    data: bytes | memoryview | FarBytes
    dtype: FeatureType
    shape: tuple[int, int]
    grid: tuple[int, int, int]
    encoder_version: str

    def __post_init__(self) -> None:
        tokens, width = self.shape
        if tokens < 1 or width < 1:
            raise BadFeatures(f"features need at least one token and one column, got {self.shape}")
        size_bytes = tokens * (width + 4) if self.dtype.narrow else tokens * width * 2
        if len(self.data) != size_bytes:
            raise BadFeatures(f"{self.shape} of {self.dtype} takes {size_bytes} bytes, got {len(self.data)}")
        if isinstance(self.data, FarBytes):
            return
        if self.dtype.narrow:
            scales = self.scales()
            if not (np.isfinite(scales).all() and (scales > 0).all()):
                raise BadFeatures("features hold scales that are not finite and above 0")
            return
        if not _all_finite(self.bits().reshape(-1), 0x7F80 if self.dtype is FeatureType.BF16 else 0x7C00):
            raise BadFeatures("features hold values that are not finite")

    @property
    def far(self) -> FarBytes | None:
        """Return the data where it lies on a device, None where it lies in memory."""
        return self.data if isinstance(self.data, FarBytes) else None

    def near(self) -> bytes | memoryview:
        """Return the data in memory, copied there where it lies on a device."""
        return self.data.near() if isinstance(self.data, FarBytes) else self.data

    def brought_near(self) -> "Features":
        """Return the same features with their data in memory, checked anew; themselves where it lies there."""
        return replace(self, data=self.data.near()) if isinstance(self.data, FarBytes) else self

    def bits(self) -> NDArray[np.uint16]:
        """Return the raw 16-bit patterns, shape (tokens, width), without copying in memory. Not for narrow ones."""
        if self.dtype.narrow:
            raise BadFeatures(f"features of {self.dtype} have no 16-bit patterns; widen them first")
        return np.frombuffer(self.near(), dtype="<u2").reshape(self.shape)

    def steps(self) -> NDArray[np.int8]:
        """Return the int8 values of narrow features, shape (tokens, width), without copying in memory."""
        tokens, width = self.shape
        return np.frombuffer(self.near(), dtype=np.int8, count=tokens * width).reshape(self.shape)

    def scales(self) -> NDArray[np.float32]:
        """Return the scale of each token of narrow features, without copying in memory."""
        tokens, width = self.shape
        return np.frombuffer(self.near(), dtype="<f4", offset=tokens * width)

    @property
    def tokens(self) -> int:
        return self.shape[0]


_AT_ONCE = 32 * 1024


def _all_finite(bits: NDArray[np.uint16], exponent: int) -> bool:
    """Return whether no value is infinite or NaN, which have all bits of the exponent set.

    Testing bits is ten times faster than ``np.isfinite``; piece by piece it needs no fresh memory for large arrays.
    """
    if len(bits) <= _AT_ONCE:
        return int((bits & np.uint16(exponent)).max()) != exponent
    room = np.empty(_AT_ONCE, np.uint16)
    for at in range(0, len(bits), _AT_ONCE):
        piece = bits[at : at + _AT_ONCE]
        found = np.bitwise_and(piece, np.uint16(exponent), out=room[: len(piece)])
        if int(found.max()) == exponent:
            return False
    return True
