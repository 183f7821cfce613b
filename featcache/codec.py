"""One frame as one value of bytes: header, features, JPEG, record. Nothing is pickled, nothing is trusted.

    0    64-byte header, little-endian: magic, format, dtype, tokens, width, grid, the three lengths, encoder
    64   features, raw bits, row by row (so a reader of features alone asks for a range)
    ...  JPEG
    ...  record: JSON of what the index and a citation need

Every length, the shape, the dtype and that all values are finite are checked when a value is read, before
anything is copied; what does not fit is ``ForgedValue``.
"""

import json
import math
import struct
from typing import Any

from core.frames import BadFeatures, Features, FeatureType, KeepReason
from core.ids import CameraId, FrameRef, InvalidFrameRef, split_frame_ref
from featcache.window import StoredFrame

HEADER_BYTES = 64
FORMAT = 1

_HEADER = struct.Struct("<4sBBHII3IIII12s12x")
_MAGIC = b"LLWF"
_RECORD_LIMIT_BYTES = 4096
_WRITER = json.JSONEncoder(separators=(",", ":"))
_NO_FEATURES = 0
_CODES = {FeatureType.BF16: 1, FeatureType.F16: 2, FeatureType.I8: 3, FeatureType.I8_OF_F16: 4}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


class ForgedValue(ValueError):
    """Bytes that are not one whole frame of ours. ``reason`` is one of a small closed set, for counting."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not a stored frame: {reason}")
        self.reason = reason


def encode_frame(frame: StoredFrame) -> bytes:
    """Return a frame as one value. Its features were checked when they were made."""
    return b"".join(frame_pieces(frame))


def frame_pieces(frame: StoredFrame) -> tuple[bytes | memoryview, ...]:
    """Return the pieces of a frame's value: header, features, JPEG, record. What lies in memory is not copied."""
    features = frame.features
    data = features.near() if features else b""
    record = _WRITER.encode(
        {
            "ref": frame.ref,
            "seq": frame.seq,
            "reason": frame.reason,
            "motion": frame.motion,
            "tenths": frame.tenths,
            "width_px": frame.width_px,
            "height_px": frame.height_px,
        }
    ).encode()
    header = _HEADER.pack(
        _MAGIC,
        FORMAT,
        _CODES[features.dtype] if features else _NO_FEATURES,
        0,
        *(features.shape if features else (0, 0)),
        *(features.grid if features else (0, 0, 0)),
        len(data),
        len(frame.jpeg),
        len(record),
        features.encoder_version.encode("ascii") if features else b"",
    )
    return header, data, frame.jpeg, record


def decode_frame(value: bytes, *, camera_id: CameraId, t_us: int) -> StoredFrame:
    """Return the frame of a value that was stored for this camera and moment; its features are a view of the value.

    Raises ForgedValue.
    """
    if len(value) < HEADER_BYTES:
        raise ForgedValue("short")
    magic, form, code, _, tokens, width, *rest, version = _HEADER.unpack_from(value)
    *grid, feature_bytes, jpeg_bytes, record_bytes = rest
    if magic != _MAGIC or form != FORMAT:
        raise ForgedValue("format")
    if record_bytes > _RECORD_LIMIT_BYTES or HEADER_BYTES + feature_bytes + jpeg_bytes + record_bytes != len(
        value
    ):
        raise ForgedValue("length")
    jpeg_at = HEADER_BYTES + feature_bytes
    record_at = jpeg_at + jpeg_bytes
    features = _features(memoryview(value)[HEADER_BYTES:jpeg_at], code, (tokens, width), tuple(grid), version)
    return _frame(
        value[record_at:], value[jpeg_at:record_at], features=features, camera_id=camera_id, t_us=t_us
    )


def _features(
    data: memoryview, code: int, shape: tuple[int, int], grid: tuple[int, ...], version: bytes
) -> Features | None:
    if code == _NO_FEATURES:
        if data:
            raise ForgedValue("features")
        return None
    dtype = _TYPES.get(code)
    if dtype is None or len(grid) != 3:
        raise ForgedValue("features")
    try:
        return Features(
            data, dtype, shape, (grid[0], grid[1], grid[2]), version.rstrip(b"\0").decode("ascii")
        )
    except (BadFeatures, UnicodeDecodeError):
        raise ForgedValue("features") from None


def _frame(
    record: bytes, jpeg: bytes, *, features: Features | None, camera_id: CameraId, t_us: int
) -> StoredFrame:
    try:
        fields = json.loads(record.decode())
        frame = _checked(fields, jpeg, features, camera_id, t_us)
        parts = split_frame_ref(frame.ref)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, InvalidFrameRef):
        raise ForgedValue("record") from None
    if (parts.camera_id, parts.t_us) != (camera_id, t_us):
        raise ForgedValue("misplaced")
    if features is not None and parts.encoder != features.encoder_version:
        raise ForgedValue("features")
    return frame


# Any: JSON is whatever somebody wrote; each field is checked for its type here.
def _checked(
    fields: Any, jpeg: bytes, features: Features | None, camera_id: CameraId, t_us: int
) -> StoredFrame:
    numbers = [fields[name] for name in ("seq", "width_px", "height_px")]
    if any(type(number) is not int or number < 0 for number in numbers):
        raise TypeError("a count is not a whole number")
    motion = float(fields["motion"])
    if not math.isfinite(motion) or type(fields["tenths"]) is not bool or type(fields["ref"]) is not str:
        raise TypeError("a field is of another type")
    return StoredFrame(
        ref=FrameRef(fields["ref"]),
        camera_id=camera_id,
        t_us=t_us,
        seq=numbers[0],
        reason=KeepReason(fields["reason"]),
        motion=motion,
        tenths=fields["tenths"],
        jpeg=jpeg,
        width_px=numbers[1],
        height_px=numbers[2],
        features=features,
    )
