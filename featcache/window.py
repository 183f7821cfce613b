"""The window: what every place that keeps frames and records must do, and the values it gives back.

Implementations: ``featcache.pool`` (memory), ``featcache.redis`` (the published copy). One contract suite, ``tests/contract/test_window.py``, runs
against each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.frames import Features, KeepReason
from core.ids import CameraId, FrameRef, Incarnation
from core.records import Record
from core.spans import Span


class Tier(StrEnum):
    """Where a frame's data lies."""

    MEMORY = "memory"
    GPU = "gpu"
    REDIS = "redis"


@dataclass(frozen=True, slots=True)
class StoredFrame:
    """One frame of the window, whole.

    Attributes:
        seq: Counts the camera's stored frames from 0 within its incarnation.
        tenths: The camera's previous frame lies in the same second, so that this one's label needs tenths.
            Fixed when stored, so that a label never changes later.
        features: None where no encoder ran; the ref's encoder is then ``jpeg``.
    """

    ref: FrameRef
    camera_id: CameraId
    t_us: int
    seq: int
    reason: KeepReason
    motion: float
    tenths: bool
    jpeg: bytes
    width_px: int
    height_px: int
    features: Features | None = None

    @property
    def size_bytes(self) -> int:
        """Return the bytes this frame counts for against a budget."""
        return len(self.jpeg) + (len(self.features.data) if self.features else 0) + 512


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """One frame in the index, without its data.

    Attributes:
        grid: (t, h, w) patches before merging, as ``Features.grid``; None where there are no features.
    """

    ref: FrameRef
    t_us: int
    seq: int
    reason: KeepReason
    motion: float
    tenths: bool
    tokens: int
    size_bytes: int
    tier: Tier
    grid: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """How far a camera's window reaches.

    Attributes:
        oldest_us, newest_us: Stream time of the first and last frame held; None while it is empty.
        evicted_before_us: Frames before this time were held once and have aged out; None if none has.
        next_seq: One more than the greatest ``seq`` stored so far, evicted frames included.
    """

    incarnation: Incarnation
    oldest_us: int | None
    newest_us: int | None
    evicted_before_us: int | None
    frames: int
    size_bytes: int
    next_seq: int = 0


class WindowReader(Protocol):
    """Reads one window. Unknown camera raises UnknownCamera, no answer WindowUnavailable."""

    async def head(self, camera_id: CameraId) -> Head:
        """Return how far the camera's window reaches."""

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        """Return the frames of one span, oldest first, without their data; may be empty."""

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        """Return up to ``count`` frames with ``t_us < before_us``, the newest ones, oldest first."""

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        """Return whole frames in the order asked; what is no longer held is left out.

        Raises InvalidFrameRef for a malformed ref.
        """

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        """Return the frame stored at exactly this stream time, or None."""

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        """Return the records that touch the span, by start; an open gap reaches to the end of time.

        A record without length, such as a scene change, touches the spans that contain its moment.
        """


class Window(WindowReader, Protocol):
    """Reads and writes one window. Writes of another incarnation than the open one raise StaleIncarnation."""

    async def open_camera(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Begin (or go on with) a camera's window. Another incarnation deletes what the old one left.

        Raises StaleIncarnation for one that was deleted before.
        """

    async def put(self, frame: StoredFrame, *, incarnation: Incarnation) -> None:
        """Store one frame. Makes room by the budget, oldest first.

        A camera has one frame per moment: the same ref, or another ref of the same ``t_us``, replaces it. A
        frame from before the eviction mark is counted and not kept.

        Raises:
            InvalidFrameRef: the ref is malformed, or names another camera or time than the frame.
            FrameTooLarge: larger than the whole budget; nothing was evicted for it.
        """

    async def put_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        """Store one record, replacing the one with the same key."""

    async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
        """Evict frames with ``t_us < before_us`` and records that end before it; return how many frames.

        Open gaps stay. Raises UnknownCamera.
        """

    async def delete_camera(self, camera_id: CameraId) -> int:
        """Delete every trace of a camera; return how many frames went. An unknown camera gives 0."""
