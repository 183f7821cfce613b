"""One frame in the sorted index, as a short line of text; its score is the stream time.

The bytes a frame counts for come first, because the scripts on the server read them too.
"""

import math

from core.frames import KeepReason
from core.ids import CameraId, FrameRef, InvalidFrameRef, split_frame_ref
from featcache.codec import ForgedValue
from featcache.window import FrameInfo, StoredFrame, Tier

_LIMIT = 400


def encode_entry(frame: StoredFrame) -> bytes:
    """Return the index entry of a frame: ``size:seq:tokens:tenths:motion:reason:ref``."""
    tokens = frame.features.tokens if frame.features else 0
    return (
        f"{frame.size_bytes}:{frame.seq}:{tokens}:{int(frame.tenths)}:{frame.motion!r}:{frame.reason}:{frame.ref}"
    ).encode()


def decode_entry(entry: bytes, *, camera_id: CameraId) -> FrameInfo:
    """Return what an index entry of this camera says. Raises ForgedValue("index")."""
    try:
        if len(entry) > _LIMIT:
            raise ValueError("too long")
        size, seq, tokens, tenths, motion, reason, ref = entry.decode("ascii").split(":", 6)
        parts = split_frame_ref(ref)
        counts = [_count(text) for text in (size, seq, tokens)]
        share = float(motion)
        if parts.camera_id != camera_id or tenths not in ("0", "1") or not math.isfinite(share):
            raise ValueError("of another camera, or not a number")
        return FrameInfo(
            ref=FrameRef(ref),
            t_us=parts.t_us,
            seq=counts[1],
            reason=KeepReason(reason),
            motion=share,
            tenths=tenths == "1",
            tokens=counts[2],
            size_bytes=counts[0],
            tier=Tier.REDIS,
        )
    except (ValueError, InvalidFrameRef):
        raise ForgedValue("index") from None


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 17:
        raise ValueError("not a count")
    return int(text)
