"""One frame in the sorted index, as a short line of text; its score is the stream time.

The bytes a frame counts for come first, because the scripts on the server read them too.
"""

import math

from core.frames import KeepReason
from core.ids import CameraId, FrameRef, InvalidFrameRef, split_frame_ref
from featcache.codec import ForgedValue
from featcache.window import FrameInfo, StoredFrame, Tier

_LIMIT = 400
_NO_GRID = "-"
_SIDE_LIMIT = 4096


def encode_entry(frame: StoredFrame | FrameInfo) -> bytes:
    """Return the index entry of a frame: ``size:seq:tokens:grid:tenths:motion:reason:ref``."""
    if isinstance(frame, FrameInfo):
        tokens, grid = frame.tokens, frame.grid
    else:
        tokens, grid = (frame.features.tokens, frame.features.grid) if frame.features else (0, None)
    patches = "x".join(map(str, grid)) if grid else _NO_GRID
    return (
        f"{frame.size_bytes}:{frame.seq}:{tokens}:{patches}:{int(frame.tenths)}:{frame.motion!r}:{frame.reason}"
        f":{frame.ref}"
    ).encode()


def decode_entry(entry: bytes, *, camera_id: CameraId, tier: Tier = Tier.REDIS) -> FrameInfo:
    """Return what an index entry of this camera says. Raises ForgedValue("index")."""
    try:
        if len(entry) > _LIMIT:
            raise ValueError("too long")
        size, seq, tokens, patches, tenths, motion, reason, ref = entry.decode("ascii").split(":", 7)
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
            tier=tier,
            grid=_grid(patches, tokens=counts[2]),
        )
    except (ValueError, InvalidFrameRef):
        raise ForgedValue("index") from None


def held_time(member: bytes) -> int | None:
    """Return the stream time of a member ``size:t_us`` of the frames whose value lies in Redis; None if forged."""
    text = member.rpartition(b":")[2]
    return int(text) if text.isdigit() and len(text) <= 17 else None


def _grid(text: str, *, tokens: int) -> tuple[int, int, int] | None:
    """Return the grid, bounded: a decoder makes room for what it says before it has seen a frame."""
    if (text == _NO_GRID) != (tokens == 0):
        raise ValueError("tokens and grid go together")
    if text == _NO_GRID:
        return None
    sides = [_count(side) for side in text.split("x")]
    if len(sides) != 3 or not all(1 <= side <= _SIDE_LIMIT for side in sides):
        raise ValueError("not a grid")
    return sides[0], sides[1], sides[2]


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 17:
        raise ValueError("not a count")
    return int(text)
