"""Features at 8 bit: one scale per token, half the bytes, and back to the encoder's own 16-bit type.

encoder = NarrowEncoder(encoder)        # its frames go by the detail ``196i8`` instead of ``196``
widened(frame)                          # what readers get
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.frames import FarBytes, Features, FeatureType, Picture
from featcache.window import StoredFrame

_NARROW = {FeatureType.BF16: FeatureType.I8, FeatureType.F16: FeatureType.I8_OF_F16}
_WIDE = {narrow: wide for wide, narrow in _NARROW.items()}
_STEPS = 127
_GREATEST_BF16 = 3.3895e38


class Encoder(Protocol):
    """As ``featcache.fill.Encoder``."""

    @property
    def version(self) -> str: ...
    @property
    def frame_detail(self) -> str: ...
    async def encode(self, picture: Picture) -> Features | None: ...


@dataclass(frozen=True, slots=True)
class NarrowEncoder:
    """An encoder whose features are kept at 8 bit (``featcache.fill.Encoder``)."""

    encoder: Encoder

    @property
    def version(self) -> str:
        """Return the encoder's own version: what is read is of its kind."""
        return self.encoder.version

    @property
    def frame_detail(self) -> str:
        """Return the encoder's detail, marked as 8 bit."""
        return f"{self.encoder.frame_detail}i8"

    async def encode(self, picture: Picture) -> Features | None:
        """Return the picture's features at 8 bit; see ``featcache.fill.Encoder``."""
        features = await self.encoder.encode(picture)
        return None if features is None else narrowed(features)


def narrowed(features: Features) -> Features:
    """Return features at 8 bit: of each token the greatest value becomes 127 steps, the others to the nearest step."""
    if features.dtype.narrow:
        return features
    values = _floats(features)
    greatest = np.abs(values).max(axis=1)
    scales = np.where(greatest > 0, greatest / _STEPS, 1).astype(np.float32)
    # The smallest numbers there are would divide to nothing.
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    steps = np.clip(np.rint(values / scales[:, None]), -_STEPS, _STEPS).astype(np.int8)
    return replace(
        features, data=steps.tobytes() + scales.astype("<f4").tobytes(), dtype=_NARROW[features.dtype]
    )


def widened(frame: StoredFrame) -> StoredFrame:
    """Return a frame with its features in 16 bit; the same one where they are already.

    Features on a device are widened there, or in memory, when somebody reads them.

    Raises BadFeatures where a forged scale gives values that are not finite.
    """
    features = frame.features
    if features is None or not features.dtype.narrow:
        return frame
    data = _widened_bytes(features) if features.far is None else WidenedBytes(features, features.far)
    return replace(frame, features=replace(features, data=data, dtype=_WIDE[features.dtype]))


def widens(features: Features) -> bool:
    """Return whether every value of narrow features is finite when widened, whatever it is."""
    greatest = np.finfo(np.float16).max if features.dtype is FeatureType.I8_OF_F16 else _GREATEST_BF16
    return bool(features.scales().max() <= greatest / 128)


class WidenedBytes(FarBytes):
    """Narrow features on a device, as their 16-bit values; all of them finite (``widens``)."""

    __slots__ = ("_far", "_features")

    def __init__(self, features: Features, far: FarBytes) -> None:
        self._features = features
        self._far = far

    def __len__(self) -> int:
        tokens, width = self._features.shape
        return tokens * width * 2

    @property
    def room_bytes(self) -> int:
        return self._far.room_bytes

    def near(self) -> bytes:
        return _widened_bytes(self._features.brought_near())

    def on(self, device: str) -> Any | None:  # Any: a torch tensor
        raw = self._far.on(device)
        if raw is None:
            return None
        import torch

        tokens, width = self._features.shape
        steps = raw[: tokens * width].view(torch.int8).view(tokens, width)
        scales = raw[tokens * width :].clone().view(torch.float32)[:, None]  # it may lie at an odd place
        values = steps.to(torch.float32) * scales
        wide = torch.float16 if _WIDE[self._features.dtype] is FeatureType.F16 else torch.bfloat16
        return values.to(wide).view(torch.uint8).view(-1)


def _widened_bytes(features: Features) -> bytes:
    """Return the 16-bit values of narrow features in memory."""
    with np.errstate(over="ignore"):
        values = features.steps().astype(np.float32) * features.scales()[:, None]
        if _WIDE[features.dtype] is FeatureType.F16:
            return values.astype("<f2").tobytes()
        return _bf16(values).tobytes()


def _floats(features: Features) -> NDArray[np.float32]:
    if features.dtype is FeatureType.F16:
        return features.bits().view("<f2").astype(np.float32)
    return (features.bits().astype(np.uint32) << 16).view(np.float32)


def _bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the upper halves of 32-bit floats, rounded to the nearest, to even where both are as near."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
