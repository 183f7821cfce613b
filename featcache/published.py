"""The pool with its published copy behind it: one window for whoever writes, reads or asks in the owner's process."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from core.clock import Clock
from core.ids import CameraId, FrameRef, Incarnation, split_frame_ref
from core.meter import Meter
from core.records import Record
from core.spans import Span
from featcache.bulletin import Bulletin, encode_bulletin
from featcache.ended import KeptDeletions
from featcache.errors import UnknownCamera, WindowUnavailable
from featcache.lending import Lender, LendStatistics
from featcache.pool import MemoryPool
from featcache.publish import Publisher, PublishStatistics
from featcache.publish_queue import Pace
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.redis_state import RedisHealth
from featcache.restore import restore
from featcache.settings import Settings
from featcache.window import FrameInfo, Head, StoredFrame, Tier

_RESTORE_WITHIN_US = 3_000_000
_DRAIN_WITHIN_US = 1_000_000


class PublishedWindow:
    """``featcache.window.Window`` over the pool, which never waits; what is written goes on to Redis by itself.

    Nothing that Redis does is felt here: it is read from the pool, and written to it first.
    """

    def __init__(
        self,
        pool: MemoryPool,
        redis: RedisSettings,
        *,
        settings: Settings,
        clock: Clock,
        meter: Meter,
        pace: Pace | None = None,
        deletions: KeptDeletions | None = None,
    ) -> None:
        """Args: deletions: Remembers, over restarts, which deletions Redis was not there for."""
        self._pool = pool
        self._redis = RedisWindow(redis, settings=settings, meter=meter, behind=Tier.MEMORY)
        self._pace = pace or Pace()
        self._publisher = Publisher(
            pool, self._redis, clock=clock, meter=meter, pace=self._pace, deletions=deletions
        )
        self._lender = Lender(pool, self._redis, self._publisher.lives, redis=redis, meter=meter)

    # running

    async def publish(self) -> None:
        """Publish until cancelled."""
        await self._publisher.run()

    async def lend(self) -> None:
        """Answer readers until cancelled. Redis away is waited for."""
        while True:
            try:
                await self._lender.serve_one()
            except WindowUnavailable:
                await asyncio.sleep(self._pace.retry_us / 1e6)

    async def tell(self, bulletins: Callable[[], Iterable[Bulletin]]) -> None:
        """Say what there is to tell of our cameras, once a second, until cancelled. Redis away is waited for."""
        while True:
            told = {b.camera.id: (b.camera.incarnation, encode_bulletin(b)) for b in bulletins()}
            with suppress(WindowUnavailable):
                await self._redis.tell(told)
            await asyncio.sleep(self._pace.tick_us / 1e6)

    async def drain(self) -> None:
        """Wait a second at most until what waits is published, so that the next process finds it."""
        await self._publisher.drain(within_us=_DRAIN_WITHIN_US)

    async def aclose(self) -> None:
        """Close the connections to Redis."""
        await self._redis.aclose()
        await self._lender.aclose()

    @property
    def health(self) -> RedisHealth:
        """Return whether Redis takes what is published."""
        return self._publisher.state.health

    def statistics(self) -> tuple[PublishStatistics, LendStatistics]:
        """Return counts so far."""
        return self._publisher.statistics(), self._lender.statistics()

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames lie in Redis, for others who read only that; return those that do.

        Raises InvalidFrameRef, WindowUnavailable; at once where Redis is known not to answer.
        """
        self._reached(refs)
        return await self._lender.promote(refs)

    def owns(self, camera_id: CameraId) -> bool:
        """Return whether this process publishes a camera's window, so that it knows what Redis holds of it."""
        return self._publisher.owns(camera_id)

    async def lying_there(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        """Return which of these frames of our cameras lie in Redis, as far as this process knows; it is not asked.

        Raises InvalidFrameRef, WindowUnavailable: Redis is known not to answer.
        """
        self._reached(refs)
        times: dict[CameraId, list[int]] = {}
        for part in map(split_frame_ref, refs):
            times.setdefault(part.camera_id, []).append(part.t_us)
        there: set[FrameRef] = set()
        for camera_id, some in times.items():
            with suppress(UnknownCamera):
                infos = await self._pool.index(camera_id, Span(min(some), max(some) + 1))
                there |= {info.ref for info in infos if info.tier is Tier.REDIS}
        return frozenset(there.intersection(refs))

    def on_their_way(self, refs: Sequence[FrameRef]) -> list[FrameRef]:
        """Return those of frames not there that will be in a moment: newer than others of their camera that are there."""
        found = []
        for ref in refs:
            part = split_frame_ref(ref)
            oldest_us = self._redis.oldest_held_us(part.camera_id)
            if oldest_us is not None and part.t_us > oldest_us:
                found.append(ref)
        return found

    def _reached(self, refs: Sequence[FrameRef]) -> None:
        fault = self.health.fault
        if refs and fault is not None and not fault.readable:
            raise WindowUnavailable(split_frame_ref(refs[0]).camera_id)

    # writing

    async def open_camera(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """See ``Window.open_camera``. What an earlier process has left of this life in Redis is taken over.

        That may take three seconds, not more, and less where Redis is away.
        """
        await self._pool.open_camera(camera_id, incarnation)
        if self._publisher.lives.get(camera_id) == incarnation:
            return
        await restore(self._pool, self._redis, camera_id, incarnation, within_us=_RESTORE_WITHIN_US)
        self._publisher.open(camera_id, incarnation)

    async def put(self, frame: StoredFrame, *, incarnation: Incarnation) -> None:
        await self._pool.put(frame, incarnation=incarnation)
        self._publisher.offer(frame.camera_id, frame.t_us, incarnation=incarnation)

    async def put_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        await self._pool.put_record(camera_id, record, incarnation=incarnation)
        self._publisher.offer_record(camera_id, record, incarnation=incarnation)

    async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
        gone = await self._pool.trim(camera_id, before_us=before_us)
        self._publisher.trim_records(camera_id, before_us=before_us)
        return gone

    async def delete_camera(self, camera_id: CameraId) -> int:
        """See ``Window.delete_camera``; takes a second at most, also where Redis is away."""
        try:
            incarnation = (await self._pool.head(camera_id)).incarnation
        except UnknownCamera:
            incarnation = None
        gone = await self._pool.delete_camera(camera_id)
        return max(gone, await self._publisher.delete(camera_id, incarnation))

    # reading

    async def head(self, camera_id: CameraId) -> Head:
        return await self._pool.head(camera_id)

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        return await self._pool.index(camera_id, span)

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        return await self._pool.newest(camera_id, before_us=before_us, count=count)

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        return await self._pool.fetch(refs)

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        return await self._pool.at(camera_id, t_us)

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        return await self._pool.records(camera_id, span)
