"""The window in the memory of the process that encodes: plain values behind the waiting interface.

No method waits, so each one is whole or not done at all, whoever is cancelled. One event loop only. With ``pages`` the
features of the newest frames lie on a device, with a budget of their own; all else lies in memory.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.ids import CameraId, FrameRef, Incarnation, InvalidFrameRef, split_frame_ref
from core.meter import Meter, Metric
from core.records import Record
from core.spans import Span
from featcache.budget import fair_level, next_to_pay, retention_cutoff_us
from featcache.errors import FrameTooLarge, PagesLost, StaleIncarnation, UnknownCamera
from featcache.narrow import widened
from featcache.paged_memory import PagedMemory
from featcache.paged_tier import place
from featcache.settings import Settings
from featcache.shelf import Shelf
from featcache.window import FrameInfo, Head, StoredFrame, Tier

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CameraHolding:
    """What one camera holds of the pool, in memory and on a device."""

    camera_id: CameraId
    frames: int
    records: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """A snapshot of the pool.

    Attributes:
        size_bytes: Bytes in memory, never more than ``budget_bytes``.
        evicted: Frames aged out since the start, by reason: ``budget``, ``retention`` (too old by the
            settings), ``trim`` (told to), ``late`` (came from before the eviction mark), ``pages_lost`` (the
            device that held their features failed).
        records_evicted: Records aged out, by reason: ``retention``, ``trim``, ``count``.
        gpu_frames, gpu_bytes: Frames whose features lie on a device, and the bytes of these.
        gpu_budget_bytes: The bytes of all pages there; 0 without any.
    """

    frames: int
    size_bytes: int
    budget_bytes: int
    cameras: tuple[CameraHolding, ...]
    evicted: tuple[tuple[str, int], ...]
    records_evicted: tuple[tuple[str, int], ...]
    gpu_frames: int = 0
    gpu_bytes: int = 0
    gpu_budget_bytes: int = 0


class MemoryPool:
    """Keeps the window of all cameras of this process within one budget (``featcache.window.Window``)."""

    _REMEMBERED_DELETIONS = 4096

    def __init__(self, settings: Settings, *, meter: Meter, pages: PagedMemory | None = None) -> None:
        """Hold features of the newest frames in ``pages``, where there are any."""
        self._settings = settings
        self._meter = meter
        self._pages = pages
        self._tells_gpu = pages is not None
        self._shelves: dict[CameraId, Shelf] = {}
        self._size_bytes = 0
        self._frames = 0
        self._deleted: dict[tuple[CameraId, Incarnation], None] = {}  # newest last
        self._evicted: Counter[str] = Counter()
        self._records_evicted: Counter[str] = Counter()

    # writing

    async def open_camera(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        if (camera_id, incarnation) in self._deleted:
            raise StaleIncarnation(camera_id)
        shelf = self._shelves.get(camera_id)
        if shelf is not None and shelf.incarnation == incarnation:
            return
        self._remove(camera_id)
        self._shelves[camera_id] = Shelf(incarnation)

    async def put(self, frame: StoredFrame, *, incarnation: Incarnation) -> None:
        parts = split_frame_ref(frame.ref)
        if (parts.camera_id, parts.t_us) != (frame.camera_id, frame.t_us):
            raise InvalidFrameRef(frame.ref)
        shelf = self._writable(frame.camera_id, incarnation)
        budget_bytes = self._settings.pool_budget_bytes
        if frame.size_bytes > budget_bytes:
            raise FrameTooLarge(frame.camera_id, frame.size_bytes, budget_bytes)
        before = (len(shelf), shelf.size_bytes)
        if not shelf.put(frame):
            self._count_evicted("late", 1)
            return
        self._frames += len(shelf) - before[0]
        self._size_bytes += shelf.size_bytes - before[1]
        if shelf.newest_us is not None:
            self._age(shelf, retention_cutoff_us(shelf.newest_us, self._settings.retention_us), "retention")
        self._place(frame)
        self._make_room()
        self._show_levels()

    async def put_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        shelf = self._writable(camera_id, incarnation)
        shelf.put_record(record)
        self._count_records("count", shelf.drop_oldest_records(self._settings.max_records))

    async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
        gone = self._age(self._shelf(camera_id), before_us, "trim")
        self._show_levels()
        return gone

    async def delete_camera(self, camera_id: CameraId) -> int:
        gone = self._remove(camera_id)
        self._show_levels()
        return gone

    # reading

    async def head(self, camera_id: CameraId) -> Head:
        return self._shelf(camera_id).head()

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        return self._shelf(camera_id).index(span)

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        return self._shelf(camera_id).newest(before_us=before_us, count=count)

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        found: list[StoredFrame] = []
        for ref, parts in [(ref, split_frame_ref(ref)) for ref in refs]:
            shelf = self._shelves.get(parts.camera_id)
            frame = shelf.find(ref, parts.t_us) if shelf else None
            if frame is not None:
                found.append(widened(frame))
        return tuple(found)

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        frame = self._shelf(camera_id).get(t_us)
        return None if frame is None else widened(frame)

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        return self._shelf(camera_id).records(span)

    # what Redis holds of it

    def kept(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        """Return the frame of a moment as it is kept, narrow features and all; None where there is none."""
        shelf = self._shelves.get(camera_id)
        return None if shelf is None else shelf.get(t_us)

    def publish(self, camera_id: CameraId, times_us: Iterable[int]) -> None:
        """Note that frames lie in Redis too; the index shows them there. An unknown camera is passed over."""
        shelf = self._shelves.get(camera_id)
        if shelf is not None:
            shelf.publish(times_us)

    def spill(self, camera_id: CameraId, *, before_us: int) -> None:
        """Note that no frame with ``t_us < before_us`` lies in Redis any more."""
        shelf = self._shelves.get(camera_id)
        if shelf is not None:
            shelf.spill(before_us)

    def statistics(self) -> PoolStatistics:
        """Return what is held now and what has aged out so far."""
        return PoolStatistics(
            frames=self._frames,
            size_bytes=self._near_bytes,
            budget_bytes=self._settings.pool_budget_bytes,
            cameras=tuple(
                CameraHolding(camera_id, len(shelf), shelf.record_count, shelf.size_bytes)
                for camera_id, shelf in sorted(self._shelves.items())
            ),
            evicted=tuple(sorted(self._evicted.items())),
            records_evicted=tuple(sorted(self._records_evicted.items())),
            gpu_frames=self._far_frames,
            gpu_bytes=self._far_bytes,
            gpu_budget_bytes=self._pages.capacity_bytes if self._pages is not None else 0,
        )

    # inside

    @property
    def _far_frames(self) -> int:
        return sum(len(shelf.far) for shelf in self._shelves.values())

    @property
    def _far_bytes(self) -> int:
        return sum(shelf.far.size_bytes for shelf in self._shelves.values())

    @property
    def _near_bytes(self) -> int:
        return self._size_bytes - self._far_bytes

    def _shelf(self, camera_id: CameraId) -> Shelf:
        shelf = self._shelves.get(camera_id)
        if shelf is None:
            raise UnknownCamera(camera_id)
        return shelf

    def _writable(self, camera_id: CameraId, incarnation: Incarnation) -> Shelf:
        shelf = self._shelves.get(camera_id)
        if shelf is None or shelf.incarnation != incarnation:
            raise StaleIncarnation(camera_id)
        return shelf

    def _remove(self, camera_id: CameraId) -> int:
        shelf = self._shelves.pop(camera_id, None)
        if shelf is None:
            return 0
        self._deleted[camera_id, shelf.incarnation] = None
        if len(self._deleted) > self._REMEMBERED_DELETIONS:
            del self._deleted[next(iter(self._deleted))]
        self._frames -= len(shelf)
        self._size_bytes -= shelf.size_bytes
        return len(shelf)

    def _age(self, shelf: Shelf, before_us: int, reason: str) -> int:
        before_bytes = shelf.size_bytes
        gone = shelf.evict_before(before_us)
        self._frames -= gone
        self._size_bytes -= before_bytes - shelf.size_bytes
        self._count_evicted(reason, gone)
        self._count_records(reason, shelf.drop_records_before(before_us))
        return gone

    def _place(self, frame: StoredFrame) -> None:
        """Move a new frame's features to the device, where there is one and its turn has come."""
        if self._pages is not None and frame.features is not None:
            try:
                place(self._shelves, self._pages, frame.camera_id, frame.t_us)
            except PagesLost:
                self._lose_pages()

    def _lose_pages(self) -> None:
        """Go on in memory alone, without the frames that the device has lost."""
        gone = 0
        for shelf in self._shelves.values():
            before_bytes = shelf.size_bytes
            gone += shelf.drop_far()
            self._size_bytes -= before_bytes - shelf.size_bytes
        self._frames -= gone
        self._pages = None
        self._count_evicted("pages_lost", gone)
        logger.error(
            "the device that holds features failed; the window goes on in memory", extra={"frames": gone}
        )

    def _make_room(self) -> None:
        budget_bytes = self._settings.pool_budget_bytes
        near_bytes = self._near_bytes
        if near_bytes <= budget_bytes:
            return
        held = {camera_id: shelf.near_bytes for camera_id, shelf in self._shelves.items()}
        oldest = {
            camera_id: shelf.oldest_us
            for camera_id, shelf in self._shelves.items()
            if shelf.oldest_us is not None
        }
        level = fair_level(held.values(), budget_bytes)
        gone = 0
        while near_bytes > budget_bytes:
            payer = next_to_pay(held, oldest, level_bytes=level)
            if (
                payer is None
            ):  # cannot be: somebody is above the level while all together are above the budget
                break
            shelf = self._shelves[payer]
            self._size_bytes -= shelf.evict_oldest()
            gone += 1
            near_bytes -= held[payer] - shelf.near_bytes
            held[payer] = shelf.near_bytes
            if shelf.oldest_us is None:
                del oldest[payer]
            else:
                oldest[payer] = shelf.oldest_us
        self._frames -= gone
        self._count_evicted("budget", gone)

    def _count_evicted(self, reason: str, frames: int) -> None:
        if frames:
            self._evicted[reason] += frames
            self._meter.count(Metric.EVICTED, frames, reason=reason)

    def _count_records(self, reason: str, records: int) -> None:
        if records:
            self._records_evicted[reason] += records
            self._meter.count(Metric.RECORDS_EVICTED, records, reason=reason)

    def _show_levels(self) -> None:
        far_frames = self._far_frames
        self._meter.gauge(Metric.WINDOW_BYTES, self._near_bytes, tier=Tier.MEMORY)
        self._meter.gauge(Metric.WINDOW_FRAMES, self._frames - far_frames, tier=Tier.MEMORY)
        if self._tells_gpu:
            self._meter.gauge(Metric.WINDOW_BYTES, self._far_bytes, tier=Tier.GPU)
            self._meter.gauge(Metric.WINDOW_FRAMES, far_frames, tier=Tier.GPU)
