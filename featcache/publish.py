"""From the pool to Redis: a bounded queue of what is new, and, after an outage, the pool's window newest first.

Publishing never makes the road wait: ``offer`` and its kin return at once. While Redis is away the queue drops its
oldest; when it answers again, records and index are made those of the pool, and values follow, the newest first,
as far as there is room, so that the default question is answered soonest. What there is no room for stays listed.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from core.clock import Clock
from core.ids import CameraId, Incarnation
from core.meter import Meter, Metric
from core.records import Record
from featcache.ended import EndedLives, KeptDeletions
from featcache.errors import FrameTooLarge, StaleIncarnation, UnknownCamera, WindowUnavailable
from featcache.pool import MemoryPool
from featcache.publish_queue import Pace, PublishQueue, Waiting
from featcache.redis import LifeMissing, RedisWindow
from featcache.redis_ledger import joined
from featcache.redis_link import Fault, fault_of
from featcache.redis_state import RedisState
from featcache.republish import reconcile
from featcache.window import FrameInfo, StoredFrame

logger = logging.getLogger(__name__)

_EVER_US = 1 << 60
_DELETE_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True)
class PublishStatistics:
    """A snapshot: waiting now; published, dropped for load, and outages survived so far; cameras to catch up."""

    waiting: int
    published: int
    dropped: int
    outages: int
    behind: int


class Publisher:
    """Publishes what one process holds. ``run`` is its one task; one event loop."""

    def __init__(
        self,
        pool: MemoryPool,
        window: RedisWindow,
        *,
        clock: Clock,
        meter: Meter,
        pace: Pace | None = None,
        deletions: KeptDeletions | None = None,
    ) -> None:
        self._pool = pool
        self._window = window
        self._clock = clock
        self._meter = meter
        self._pace = pace or Pace()
        self._waiting = PublishQueue(self._pace.capacity)
        self._new = asyncio.Event()
        self._lives: dict[CameraId, Incarnation] = {}
        self._opened: dict[CameraId, Incarnation] = {}
        self._taken: set[CameraId] = set()  # another process owns these now
        self._ended = EndedLives(deletions)
        self._behind: dict[CameraId, None] = {}  # to be made equal to the pool
        self._missing: dict[CameraId, list[FrameInfo]] = {}  # oldest first; sent from the end
        self._records_before: dict[CameraId, int] = {}
        self._trimmed: dict[CameraId, tuple[int, int]] = {}
        self._next_tick_us = 0
        self._busy = False
        self._published = self._dropped = 0
        self.state = RedisState(clock=clock, meter=meter)

    # what the pool does

    @property
    def lives(self) -> Mapping[CameraId, Incarnation]:
        """Return the cameras that this process owns, and the life of each."""
        return self._lives

    def owns(self, camera_id: CameraId) -> bool:
        """Return whether this process publishes a camera, and no other has taken it over."""
        return camera_id in self._lives and camera_id not in self._taken

    def open(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Publish a camera from now on. Its opening in Redis ends every other life it has there."""
        if self._lives.get(camera_id) != incarnation:
            self._forget(camera_id)
        self._lives[camera_id] = incarnation
        self._new.set()

    def offer(self, camera_id: CameraId, t_us: int, *, incarnation: Incarnation) -> None:
        """Publish a frame that the pool has stored, soon. It is taken from the pool when its turn comes."""
        self._add(Waiting(camera_id, incarnation, t_us))

    def offer_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        """Publish a record that the pool has stored, soon."""
        self._add(Waiting(camera_id, incarnation, record))

    def trim_records(self, camera_id: CameraId, *, before_us: int) -> None:
        """Let the records go that ended before, soon. Which frames have aged out is read from the pool."""
        self._records_before[camera_id] = before_us

    async def delete(self, camera_id: CameraId, incarnation: Incarnation | None) -> int:
        """Delete every trace of a camera in Redis; return how many frames were listed there.

        Where Redis does not answer within a second it is done when it is back, and 0 returned.

        Args:
            incarnation: The life that ends; None where this process never opened one.
        """
        incarnation = self._lives.pop(camera_id, incarnation)
        self._forget(camera_id)
        try:
            async with asyncio.timeout(_DELETE_WITHIN_S):
                return await self._window.delete_camera(camera_id)
        except (WindowUnavailable, TimeoutError):
            if incarnation is not None:
                await self._ended.add((camera_id, incarnation))
            return 0

    def statistics(self) -> PublishStatistics:
        """Return counts so far."""
        health = self.state.health
        behind = len(self._behind.keys() | self._missing.keys())
        return PublishStatistics(len(self._waiting), self._published, self._dropped, health.outages, behind)

    async def drain(self, *, within_us: int) -> None:
        """Wait until what waits is published; not where Redis is away, and no longer than said."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_us / 1e6):
                while (self._waiting or self._busy) and self.state.health.up:  # noqa: ASYNC110  for a moment, at the end
                    await asyncio.sleep(0.005)

    # the task

    async def run(self) -> None:
        """Publish until cancelled. Redis away is waited for; nothing it does ends this."""
        await self._ended.load()
        while True:
            if not (self._waiting or self._missing or self._behind or self._new.is_set()):
                await self._wait()
            self._new.clear()
            try:
                await self._round()
            except WindowUnavailable as error:
                self._failed(error)
                await asyncio.sleep(self._pace.retry_us / 1e6)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._pace.tick_us / 1e6):
                await self._new.wait()
        except TimeoutError:
            pass  # time for the regular round

    async def _round(self) -> None:
        for life in self._ended.due:
            await self._window.delete_life(*life)
            await self._ended.done(life)
        await self._open_new()
        await self._publish_waiting()
        await self._tick()
        await self._catch_up()

    async def _open_new(self) -> None:
        for camera_id, incarnation in tuple(self._lives.items()):
            if self._opened.get(camera_id) == incarnation or camera_id in self._taken:
                continue
            try:
                await self._window.open_camera(camera_id, incarnation)
            except StaleIncarnation:
                self._yield_to_other(camera_id)
                continue
            if self._lives.get(camera_id) == incarnation:  # it may have been deleted meanwhile
                self._opened[camera_id] = incarnation
                self._trimmed.pop(camera_id, None)
                self._behind[camera_id] = None
                self.state.works()
            elif camera_id not in self._lives:
                await self._ended.add((camera_id, incarnation))

    async def _publish_waiting(self) -> None:
        """Publish what waits. What is taken out and not stored is found again in the pool."""
        self._busy = bool(self._waiting)
        try:
            while self._waiting:
                await self._publish_some()
                await self._tick()  # a stream that is never caught up with must not hold up the ages
        finally:
            self._busy = False
        self._meter.gauge(Metric.PUBLISH_WAITING, 0)

    async def _publish_some(self) -> None:
        frames: list[StoredFrame] = []
        records: dict[CameraId, list[Record]] = {}
        for waiting in self._waiting.take(self._pace.batch):
            camera_id = waiting.camera_id
            if self._opened.get(camera_id) != waiting.incarnation:
                continue  # deleted, or made equal to the pool when it is opened
            if not isinstance(waiting.item, int):
                records.setdefault(camera_id, []).append(waiting.item)
            elif (frame := self._pool.kept(camera_id, waiting.item)) is not None:
                frames.append(frame)
        for camera_id, some in records.items():
            await self._guarded(camera_id, self._store_records(camera_id, some))
        while frames:
            sizes = [frame.size_bytes for frame in frames]
            count = joined(sizes, at_most_bytes=self._pace.batch_bytes, at_most=self._pace.batch)
            await self._store(frames[:count])
            del frames[:count]

    async def _catch_up(self) -> None:
        """Bring cameras up to the pool in turns, each newest first; what is new goes first all the while."""
        while self._behind or self._missing:
            for camera_id in tuple(self._behind):
                incarnation = self._opened.get(camera_id)
                self._missing.pop(camera_id, None)
                if incarnation is not None:
                    await self._guarded(camera_id, self._reconcile(camera_id, incarnation))
                self._behind.pop(camera_id, None)
                await self._publish_waiting()
            for camera_id in tuple(self._missing):
                await self._send_missing(camera_id)
                await self._publish_waiting()
                await self._tick()

    async def _reconcile(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        missing = await reconcile(self._pool, self._window, camera_id, incarnation)
        if missing and self._opened.get(camera_id) == incarnation:
            self._missing[camera_id] = missing

    async def _send_missing(self, camera_id: CameraId) -> None:
        left = self._missing.pop(camera_id, [])
        sizes = [info.size_bytes for info in left[: -self._pace.batch - 1 : -1]]
        count = joined(sizes, at_most_bytes=self._pace.batch_bytes, at_most=self._pace.batch)
        while count and not self._window.has_room(camera_id, sum(sizes[:count])):
            count -= 1
        if not count:
            return  # Redis is full of newer ones
        kept = (self._pool.kept(camera_id, info.t_us) for info in left[-count:])
        frames = [frame for frame in kept if frame is not None]
        if left[:-count] and camera_id in self._opened:
            self._missing[camera_id] = left[:-count]
        await self._store(frames)

    async def _tick(self) -> None:
        """Now and then: pass on what has aged out of the pool, compare clocks, notice that Redis was emptied."""
        now_us = self._clock.mono_us()
        if now_us < self._next_tick_us:
            return
        self._next_tick_us = now_us + self._pace.tick_us
        asked_us = self._clock.now_us()
        redis_us, lost = await self._window.look_after(tuple(self._opened))
        self.state.time(redis_us, asked_us=asked_us, answered_us=self._clock.now_us())
        if self.state.health.fault is not Fault.FULL:
            self.state.works()
        for camera_id in lost:
            self._lost(camera_id)
        for camera_id in tuple(self._opened):
            await self._guarded(camera_id, self._trim(camera_id))

    async def _trim(self, camera_id: CameraId) -> None:
        mark_us = (await self._pool.head(camera_id)).evicted_before_us or 0
        wanted = (mark_us, self._records_before.get(camera_id, 0))
        if self._trimmed.get(camera_id, (0, 0)) != wanted:
            await self._window.follow(camera_id, mark_us=mark_us, records_before_us=wanted[1])
            self._trimmed[camera_id] = wanted

    # inside

    def _add(self, waiting: Waiting) -> None:
        if waiting.camera_id in self._taken:
            return
        dropped = self._waiting.add(waiting)
        if dropped is not None:
            self._dropped += 1
            self._meter.count(Metric.PUBLISH_DROPPED)
            if dropped in self._opened:
                self._behind[dropped] = None
        self._meter.gauge(Metric.PUBLISH_WAITING, len(self._waiting))
        self._new.set()

    def _forget(self, camera_id: CameraId) -> None:
        """Forget all that was to be done for a life that has ended."""
        for kept in (self._opened, self._behind, self._missing):
            kept.pop(camera_id, None)
        for ages in (self._records_before, self._trimmed):
            ages.pop(camera_id, None)
        self._taken.discard(camera_id)
        self._waiting.drop(camera_id)

    def _failed(self, error: WindowUnavailable) -> None:
        """Redis is away: begin anew when it is back. Until then what is new is in the pool only."""
        for kept in (self._opened, self._behind, self._missing, self._trimmed):
            kept.clear()
        cause = error.__cause__
        fault = self._window.fault if cause is None else fault_of(cause)
        if fault is None or not fault.readable:
            for camera_id in self._lives:
                self._pool.spill(camera_id, before_us=_EVER_US)
            self._window.lose_sight()
        self.state.failed(fault, cause)

    def _lost(self, camera_id: CameraId) -> None:
        """Redis was emptied: begin the camera's window there anew, on the next round."""
        self._pool.spill(camera_id, before_us=_EVER_US)
        self._missing.pop(camera_id, None)
        if self._opened.pop(camera_id, None) is not None:
            self._new.set()

    def _yield_to_other(self, camera_id: CameraId) -> None:
        """Another process has taken the camera over, or ended this life of it."""
        if self._opened.pop(camera_id, None) is not None:
            logger.warning("another process owns this camera's copy in Redis", extra={"camera_id": camera_id})
        self._taken.add(camera_id)
        self._missing.pop(camera_id, None)
        self._pool.spill(camera_id, before_us=_EVER_US)

    async def _guarded(self, camera_id: CameraId, work: Coroutine[Any, Any, None]) -> None:
        """Do some of one camera's work; that it was lost, taken over or deleted meanwhile ends only that."""
        try:
            await work
        except (LifeMissing, UnknownCamera):
            self._lost(camera_id)
        except StaleIncarnation:
            if camera_id in self._opened:
                self._yield_to_other(camera_id)

    async def _store(self, frames: Iterable[StoredFrame]) -> None:
        writes = [(f, self._opened[f.camera_id]) for f in frames if f.camera_id in self._opened]
        if not writes:
            return
        unlisted: dict[CameraId, list[StoredFrame]] = {}
        outcomes = await self._window.put_many(writes)
        for (frame, _), error in zip(writes, outcomes, strict=True):
            match error:
                case None:
                    self._published += 1
                    self._meter.count(Metric.PUBLISHED)
                    self._pool.publish(frame.camera_id, [frame.t_us])
                case WindowUnavailable() if not _is_full(error):
                    raise error
                case WindowUnavailable() | FrameTooLarge():
                    unlisted.setdefault(frame.camera_id, []).append(frame)
                case LifeMissing():
                    self._lost(frame.camera_id)
                case StaleIncarnation() if frame.camera_id in self._opened:
                    self._yield_to_other(frame.camera_id)
        self._spill()
        for camera_id, some in unlisted.items():
            await self._guarded(camera_id, self._list(camera_id, some))
        if any(map(_is_full, outcomes)):
            self.state.failed(Fault.FULL, next(filter(_is_full, outcomes)))
        else:
            self.state.works()

    def _spill(self) -> None:
        """Take over into the pool's index what Redis no longer holds."""
        for camera_id in self._opened:
            oldest_us = self._window.oldest_held_us(camera_id)
            self._pool.spill(camera_id, before_us=_EVER_US if oldest_us is None else oldest_us)

    async def _list(self, camera_id: CameraId, frames: list[StoredFrame]) -> None:
        infos = [
            info
            for frame in frames
            for info in await self._pool.newest(camera_id, before_us=frame.t_us + 1, count=1)
        ]
        if (incarnation := self._opened.get(camera_id)) is not None:  # deleted meanwhile
            await self._window.put_index(camera_id, infos, incarnation=incarnation)

    async def _store_records(self, camera_id: CameraId, records: list[Record]) -> None:
        if (incarnation := self._opened.get(camera_id)) is not None:  # deleted meanwhile
            await self._window.put_records(camera_id, records, incarnation=incarnation)


def _is_full(error: Exception | None) -> bool:
    cause = error.__cause__ if error else None
    return cause is not None and fault_of(cause) is Fault.FULL
