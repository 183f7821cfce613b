"""What waits to be published: bounded, the oldest leaves first; and how fast it goes. Pure."""

from collections import deque
from dataclasses import dataclass

from core.ids import CameraId, Incarnation
from core.records import Record


@dataclass(frozen=True, slots=True)
class Waiting:
    """A record, or the stream time of a frame, which is taken from the pool when its turn comes."""

    camera_id: CameraId
    incarnation: Incarnation
    item: int | Record


@dataclass(frozen=True, slots=True)
class Pace:
    """How publishing goes about it.

    Attributes:
        capacity: Frames and records that wait at most; the oldest are dropped, and found again in the pool.
        batch: Frames sent in one go, and their bytes.
        retry_us: Pause after Redis failed to answer.
        tick_us: How often ages, clock and lives are looked after while nothing else happens.
    """

    capacity: int = 256
    batch: int = 8
    batch_bytes: int = 32 << 20
    retry_us: int = 500_000
    tick_us: int = 1_000_000


class PublishQueue:
    """First in, first out; no bytes of frames are kept here."""

    def __init__(self, capacity: int) -> None:
        self._items: deque[Waiting] = deque()
        self._capacity = capacity

    def __len__(self) -> int:
        return len(self._items)

    def add(self, waiting: Waiting) -> CameraId | None:
        """Put one in; return the camera whose oldest had to leave for it, or None."""
        dropped = self._items.popleft().camera_id if len(self._items) >= self._capacity else None
        self._items.append(waiting)
        return dropped

    def take(self, at_most: int) -> list[Waiting]:
        """Take the oldest out, in their order."""
        return [self._items.popleft() for _ in range(min(at_most, len(self._items)))]

    def drop(self, camera_id: CameraId) -> None:
        """Let all of one camera go."""
        self._items = deque(waiting for waiting in self._items if waiting.camera_id != camera_id)
