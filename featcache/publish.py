"""From the pool to Redis: a bounded queue of what is new, and, after an outage, the pool's window newest first.

Publishing never makes the road wait: ``offer`` and ``offer_record`` return at once. While Redis is away the
queue drops its oldest; when it answers again, whatever the pool still holds is published, the newest first, so
that the default question is answered soonest.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.ids import CameraId, Incarnation
from core.records import Record
from core.spans import Span
from featcache.errors import StaleIncarnation, UnknownCamera, WindowUnavailable
from featcache.redis import LifeMissing, RedisWindow
from featcache.window import StoredFrame, WindowReader

logger = logging.getLogger(__name__)

_EVER = Span(0, 1 << 60)


@dataclass(frozen=True, slots=True)
class PublishStatistics:
    """A snapshot: waiting now; published, dropped for load, and outages survived so far."""

    waiting: int
    published: int
    dropped: int
    outages: int


class Publisher:
    """Publishes what one process holds. ``run`` is its one task; one event loop."""

    def __init__(
        self,
        pool: WindowReader,
        window: RedisWindow,
        lives: Callable[[], Mapping[CameraId, Incarnation]],
        *,
        capacity: int = 256,
        batch: int = 8,
        retry_us: int = 500_000,
    ) -> None:
        """Args:
        lives: The cameras this process owns now, and the life of each.
        capacity: Frames and records that wait at most; the oldest are dropped, and found again in the pool.
        batch: Frames sent in one go.
        retry_us: Pause after Redis failed to answer.
        """
        self._pool = pool
        self._window = window
        self._lives = lives
        self._batch = batch
        self._retry_us = retry_us
        self._waiting: deque[tuple[CameraId, Incarnation, StoredFrame | Record]] = deque(maxlen=capacity)
        self._new = asyncio.Event()
        self._behind: set[CameraId] = set()  # cameras whose window must be published from the pool
        self._opened: dict[CameraId, Incarnation] = {}
        self._published = self._dropped = self._outages = 0

    def offer(self, frame: StoredFrame, *, incarnation: Incarnation) -> None:
        """Publish a frame that the pool has stored, soon."""
        self._add(frame.camera_id, incarnation, frame)

    def offer_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        """Publish a record that the pool has stored, soon."""
        self._add(camera_id, incarnation, record)

    def statistics(self) -> PublishStatistics:
        """Return counts so far."""
        return PublishStatistics(len(self._waiting), self._published, self._dropped, self._outages)

    async def run(self) -> None:
        """Publish until cancelled. Redis away is waited for; nothing it does ends this."""
        while True:
            if not (self._waiting or self._behind or self._new.is_set()):
                await self._new.wait()
            self._new.clear()
            try:
                await self._open_new()
                await self._publish_waiting()
                await self._catch_up()
            except WindowUnavailable as error:
                self._outages += 1
                self._behind |= set(self._lives())
                self._opened.clear()
                logger.warning(
                    "publishing waits for Redis",
                    extra={"fault": self._window.fault, "cause": str(error.__cause__)},
                )
                await asyncio.sleep(self._retry_us / 1e6)

    # inside

    def _add(self, camera_id: CameraId, incarnation: Incarnation, item: StoredFrame | Record) -> None:
        if len(self._waiting) == self._waiting.maxlen:
            self._dropped += 1
            self._behind.add(self._waiting[0][0])
        self._waiting.append((camera_id, incarnation, item))
        self._new.set()

    async def _open_new(self) -> None:
        for camera_id, incarnation in tuple(self._lives().items()):
            if self._opened.get(camera_id) == incarnation:
                continue
            self._opened[camera_id] = incarnation  # also where it has ended: it is not asked twice
            try:
                await self._window.open_camera(camera_id, incarnation)
            except StaleIncarnation:
                continue
            except WindowUnavailable:
                del self._opened[camera_id]
                raise
            self._behind.add(camera_id)

    async def _publish_waiting(self) -> None:
        """Publish what waits. What is taken out and not stored is found again in the pool."""
        while self._waiting:
            frames: list[tuple[StoredFrame, Incarnation]] = []
            while self._waiting and len(frames) < self._batch:
                camera_id, incarnation, item = self._waiting.popleft()
                if isinstance(item, StoredFrame):
                    frames.append((item, incarnation))
                else:
                    await self._store_record(camera_id, item, incarnation)
            await self._store(frames)

    async def _catch_up(self) -> None:
        """Publish from the pool what Redis lacks, camera by camera; what is new goes first all the while."""
        while self._behind:
            camera_id = min(self._behind)
            incarnation = self._opened.get(camera_id)
            try:
                if incarnation is not None:
                    await self._republish(camera_id, incarnation)
            except UnknownCamera:
                pass  # deleted meanwhile, or another's; the pool or Redis says so
            self._behind.discard(camera_id)

    async def _republish(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        for record in await self._pool.records(camera_id, _EVER):
            await self._store_record(camera_id, record, incarnation)
        there = {info.ref for info in await self._window.index(camera_id, _EVER)}
        missing = [info for info in await self._pool.index(camera_id, _EVER) if info.ref not in there]
        while missing:
            mark_us = (await self._window.head(camera_id)).evicted_before_us
            if mark_us is not None and missing[-1].t_us < mark_us:
                break  # Redis is full of newer ones
            refs = [info.ref for info in missing[-self._batch :]]
            del missing[-self._batch :]
            await self._store([(frame, incarnation) for frame in await self._pool.fetch(refs)])
            await self._publish_waiting()

    async def _store(self, frames: list[tuple[StoredFrame, Incarnation]]) -> None:
        if not frames:
            return
        for (frame, _), error in zip(frames, await self._window.put_many(frames), strict=True):
            if error is None:
                self._published += 1
            elif isinstance(error, WindowUnavailable):
                raise error
            elif isinstance(error, LifeMissing):
                self._lost(frame.camera_id)

    async def _store_record(self, camera_id: CameraId, record: Record, incarnation: Incarnation) -> None:
        try:
            await self._window.put_record(camera_id, record, incarnation=incarnation)
        except LifeMissing:
            self._lost(camera_id)
        except StaleIncarnation:
            pass  # the camera is another's now, or gone

    def _lost(self, camera_id: CameraId) -> None:
        """Redis was emptied: begin the camera's window there anew, on the next round."""
        self._opened.pop(camera_id, None)
        self._new.set()
