"""The owner's side of spilled frames: readers ask for them through Redis, and get them lent for a while."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.ids import CameraId, FrameRef, Incarnation, split_frame_ref
from core.meter import Meter, Metric
from featcache.codec import ForgedValue
from featcache.errors import StaleIncarnation, WindowUnavailable
from featcache.pool import MemoryPool
from featcache.redis import RedisWindow
from featcache.redis_link import RedisLink
from featcache.redis_requests import Request, decode_request
from featcache.redis_settings import RedisSettings
from featcache.window import StoredFrame, Tier

logger = logging.getLogger(__name__)

_ALIVE_MS = 3_000
_REPLY_MS = 2_000
_NOBODY = CameraId("")


@dataclass(frozen=True, slots=True)
class LendStatistics:
    """A snapshot: requests answered, frames lent, frames asked for that could not be, requests that were forged."""

    answered: int
    lent: int
    refused: int
    forged: int


class Lender:
    """Answers readers. ``serve`` is its one task; the way to Redis is its own, so that it never waits for writers."""

    def __init__(
        self,
        pool: MemoryPool,
        window: RedisWindow,
        lives: Mapping[CameraId, Incarnation],
        *,
        redis: RedisSettings,
        meter: Meter,
    ) -> None:
        """Args: lives: The cameras this process owns now, and the life of each; read anew each time."""
        self._pool = pool
        self._window = window
        self._lives = lives
        self._meter = meter
        self._link = RedisLink(redis)
        # Shorter than any reply may take, or an idle wait would look like a server that does not answer.
        self._wait_s = min(500_000, redis.reply_timeout_us // 2, redis.operation_timeout_us // 2) / 1e6
        self._answered = self._lent = self._refused = self._forged = 0

    def statistics(self) -> LendStatistics:
        """Return counts so far."""
        return LendStatistics(self._answered, self._lent, self._refused, self._forged)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._link.aclose()

    async def serve_one(self) -> bool:
        """Say that this owner is at work, wait a moment for a request and answer it; return whether one came.

        Raises WindowUnavailable where Redis does not answer.
        """
        keys = self._window.owner_keys
        _, popped = await self._link.run(
            _NOBODY,
            [("SET", keys.alive, 1, "PX", _ALIVE_MS), ("BLPOP", keys.wanted, f"{self._wait_s:.3f}")],
        )
        if popped is None:
            return False
        try:
            request = decode_request(popped[1])
        except ForgedValue:
            self._forged += 1
            self._meter.count(Metric.FEATURES_REFUSED)
            return True
        lent = await self._lend_asked(request)
        reply = keys.reply(request.reply)
        await self._link.run(_NOBODY, [("RPUSH", reply, lent), ("PEXPIRE", reply, _REPLY_MS)])
        self._answered += 1
        return True

    async def promote(self, refs: Iterable[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames of this process lie in Redis, for others who read only that; return those that do.

        Raises InvalidFrameRef, WindowUnavailable.
        """
        refs, there = tuple(refs), set[FrameRef]()
        spilled: dict[CameraId, list[StoredFrame]] = {}
        for ref in refs:
            parts = split_frame_ref(ref)
            frame = self._pool.kept(parts.camera_id, parts.t_us)
            if parts.camera_id not in self._lives or frame is None or frame.ref != ref:
                continue
            (info,) = await self._pool.newest(parts.camera_id, before_us=parts.t_us + 1, count=1)
            if info.tier is Tier.REDIS:
                there.add(ref)
            else:
                spilled.setdefault(parts.camera_id, []).append(frame)
        for camera_id, frames_of_one in spilled.items():
            there |= {frame.ref for frame in await self._lend(camera_id, frames_of_one)}
        return tuple(ref for ref in refs if ref in there)

    # inside

    async def _lend_asked(self, request: Request) -> int:
        frames: list[StoredFrame] = []
        try:
            if self._lives.get(request.camera_id) == request.incarnation:
                found = (self._pool.kept(request.camera_id, t_us) for t_us in request.times_us)
                frames += [frame for frame in found if frame is not None]
            lent = await self._lend(request.camera_id, frames)
        except WindowUnavailable:  # no room: the reader leaves them out
            lent = ()
        refused = len(request.times_us) - len(lent)
        self._refused += refused
        self._meter.count(Metric.PROMOTED, refused, outcome="refused")
        return len(lent)

    async def _lend(self, camera_id: CameraId, frames: list[StoredFrame]) -> tuple[StoredFrame, ...]:
        incarnation = self._lives.get(camera_id)
        if incarnation is None or not frames:
            return ()
        try:
            lent = await self._window.lend(frames, incarnation=incarnation)
        except StaleIncarnation:
            return ()
        self._lent += len(lent)
        self._meter.count(Metric.PROMOTED, len(lent), outcome="lent")
        return lent
