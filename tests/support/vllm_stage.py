"""A tiny checkpoint's frames and questions, for tests of what goes to vLLM."""

import numpy as np

from core.frames import Features
from core.ids import CameraId, FrameRef, make_frame_ref
from models.checkpoint import Checkpoint
from models.prompt import FramePart

GATE = CameraId("gate")
ROWS, COLUMNS = 8, 12


def ref_of(n: int, checkpoint: Checkpoint) -> FrameRef:
    """Return the ref of the frame ``n`` seconds after 1970."""
    return make_frame_ref(GATE, 1_000_000 * n, encoder=checkpoint.encoder_version, detail="24")


def frame_of(n: int, checkpoint: Checkpoint) -> FramePart:
    """Return a frame of 24 tokens, ``n`` seconds after 14:03:00, by ref."""
    return FramePart(f"[14:03:{n:02d}]", ref_of(n, checkpoint), grid=(1, ROWS, COLUMNS))


def features_of(n: int, checkpoint: Checkpoint, *, width: int | None = None) -> Features:
    """Return features of such a frame, equal for equal ``n``."""
    shape = (ROWS * COLUMNS // 4, width or checkpoint.feature_width)
    bits = np.random.default_rng(n).integers(0, 0x3F80, size=shape, dtype=np.uint16)
    return Features(
        bits.astype("<u2").tobytes(),
        checkpoint.feature_type,
        shape,
        (1, ROWS, COLUMNS),
        checkpoint.encoder_version,
    )
