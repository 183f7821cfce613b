"""The lives of cameras in Redis, and their records: opened, owned, trimmed, ended without a trace."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from core.ids import CameraId, Incarnation
from core.meter import Meter, Metric
from core.records import Gap, Record
from featcache.codec_records import encode_record
from featcache.errors import StaleIncarnation, UnknownCamera
from featcache.redis_keys import LifeKeys, OwnerKeys, camera_key, roll_key
from featcache.redis_ledger import Ledger, Life
from featcache.redis_link import Command, Reply, evaluate
from featcache.redis_reader import RedisReader
from featcache.redis_scripts import BEGIN, BURY, ENLIST, LOOK, POINT, RECORD, TELL, TRIM, Script
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import Tier

AT_ONCE = 500
"""Records, or entries of the index, in one step."""


class LifeMissing(StaleIncarnation):
    """Redis knows nothing of this life: it was emptied, or came back without its data. Open it again, republish."""


class RedisLives(RedisReader):
    """Opens and ends lives, and keeps their records. One event loop; its writes take turns.

    Args:
        behind: The tier in which this process holds the whole window. What leaves Redis for its budget then stays
            in the index under that tier, and is lent to readers who ask. None: what leaves is forgotten.
    """

    def __init__(
        self, redis: RedisSettings, *, settings: Settings, meter: Meter, behind: Tier | None = None
    ) -> None:
        super().__init__(redis, meter=meter)
        self.owner = secrets.token_hex(8)
        self._settings = settings
        self._behind = behind
        # A frame that is read for the length of the retention must not expire before.
        self._ttl_ms = max(redis.ttl_us, 2 * settings.retention_us) // 1000
        self._ledger = Ledger(redis.redis_budget_bytes)
        self._turn = asyncio.Lock()

    @property
    def owner_keys(self) -> OwnerKeys:
        """Return the keys over which readers ask this worker."""
        return OwnerKeys.of(self._redis.prefix, self.owner)

    # lives

    async def open_camera(
        self, camera_id: CameraId, incarnation: Incarnation, *, fence: int | None = None
    ) -> None:
        """Begin, go on with or take over a camera's window; see ``Window.open_camera``.

        Whoever opened this life before can no longer write to it.

        Args:
            fence: The number of this owner, greater than those before it; None takes the next one.
        """
        async with self._turn:
            keys = self._keys(camera_id, incarnation)
            begin = (keys.root, fence or 0, self._ttl_ms, self.owner, self._behind or "")
            (reply,) = await self._link.run(camera_id, [evaluate(BEGIN, keys.all_declared(), *begin)])
            if reply[0] != b"ok":
                raise StaleIncarnation(camera_id)
            await self._point(camera_id, incarnation)
            life = Life(incarnation, keys, reply[1], now_s())
            (state,) = await self._link.run(
                camera_id, [evaluate(TRIM, keys.all_declared(), keys.root, 0, 0, 0)]
            )
            life.note(*state[2:5])
            self._ledger.open(camera_id, life)
            self._lives[camera_id] = incarnation
            self._show_levels()

    async def delete_camera(self, camera_id: CameraId) -> int:
        """See ``Window.delete_camera``. Only a nameless mark stays, so that late writers are refused."""
        async with self._turn:
            self._ledger.close(camera_id)
            incarnation = await self._life(camera_id)
            if incarnation is None:
                return 0
            gone = await self._bury(camera_id, incarnation)
            await self._unlist(camera_id, incarnation)
            self._lives.pop(camera_id, None)
            self._show_levels()
            return gone

    async def delete_life(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Delete every trace of one life of a camera; another one that it may be in by now is not touched."""
        async with self._turn:
            life = self._ledger.get(camera_id)
            if life is not None and life.incarnation == incarnation:
                self._ledger.close(camera_id)
            await self._bury(camera_id, incarnation)
            await self._unlist(camera_id, incarnation)
            if self._lives.get(camera_id) == incarnation:
                self._lives.pop(camera_id)
            self._show_levels()

    def lose_sight(self) -> None:
        """Take nothing to lie there that anybody could read, until the lives are opened again."""
        for camera_id in self._ledger:
            if (life := self._ledger.get(camera_id)) is not None:
                life.lost()
        self._show_levels()

    async def tell(self, bulletins: Mapping[CameraId, tuple[Incarnation, bytes]]) -> tuple[CameraId, ...]:
        """Say what there is to tell of cameras (``bulletin``), and that they are there; return those that are ours.

        It keeps what is known of a camera alive that sends nothing. Raises WindowUnavailable.
        """
        async with self._turn:
            lives: dict[CameraId, Life] = {}
            for camera_id, (incarnation, _) in bulletins.items():
                life = self._ledger.get(camera_id)
                if life is not None and life.incarnation == incarnation:
                    lives[camera_id] = life
            if not lives:
                return ()
            telling = [
                evaluate(
                    TELL,
                    life.keys.all_declared(),
                    life.keys.root,
                    life.fence,
                    self._ttl_ms,
                    bulletins[camera_id][1],
                )
                for camera_id, life in lives.items()
            ]
            replies = await self._link.run(next(iter(lives)), telling)
            ours = tuple(c for c, reply in zip(lives, replies, strict=True) if reply[0] == b"ok")
            if ours:
                roll = [roll_key(self._redis.prefix)]
                await self._link.run(ours[0], [evaluate(ENLIST, roll, self._ttl_ms // 1000, *ours)])
                await self._keep_pointed(set(ours))
            return ours

    # records and age

    async def put_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        await self.put_records(camera_id, [record], incarnation=incarnation)

    async def put_records(
        self, camera_id: CameraId, records: Sequence[Record], *, incarnation: Incarnation
    ) -> None:
        """Store records in their order, each replacing the one with the same key."""
        for at in range(0, len(records), AT_ONCE):
            fields = [field for record in records[at : at + AT_ONCE] for field in _record_fields(record)]
            reply = await self._script(
                camera_id, incarnation, RECORD, self._settings.max_records, self._ttl_ms, *fields
            )
            if reply[1] and self._behind is None:
                self._meter.count(Metric.RECORDS_EVICTED, reply[1], reason="count")

    async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
        reply = await self._trim(camera_id, before_us, before_us, 0)
        self._count_gone(reply, "trim")
        return int(reply[1])

    async def follow(self, camera_id: CameraId, *, mark_us: int, records_before_us: int) -> None:
        """Let go of what has aged out of the pool, whose eviction mark is ``mark_us``. Raises UnknownCamera."""
        await self._trim(camera_id, mark_us, records_before_us, 1)

    async def _trim(self, camera_id: CameraId, before_us: int, records_us: int, marks: int) -> Reply:
        arguments = (before_us, records_us, marks)
        async with self._turn:
            _, (reply,) = await self._ask(
                camera_id, lambda keys: [evaluate(TRIM, keys.all_declared(), keys.root, *arguments)]
            )
            if reply[0] != b"ok":
                raise UnknownCamera(camera_id)
            life = self._ledger.get(camera_id)
            if life is not None:
                life.note(*reply[2:5])
            self._show_levels()
            return reply

    async def look_after(self, cameras: Sequence[CameraId]) -> tuple[int, tuple[CameraId, ...]]:
        """Return Redis' own time, µs since 1970, and those of this worker's cameras whose life it has lost."""
        lives = [(camera_id, life) for camera_id in cameras if (life := self._ledger.get(camera_id))]
        keys = [life.keys for _, life in lives] or [LifeKeys(self.owner_keys.root)]
        replies = await self._link.run(
            cameras[0] if cameras else CameraId(""),
            [evaluate(LOOK, each.all_declared(), each.root) for each in keys],
        )
        seconds, micros = replies[0][0]
        lost = [each for each, reply in zip(lives, replies, strict=False) if not reply[1]]
        for _, life in lost:
            life.lost()
        if lost:
            self._show_levels()
        return int(seconds) * 1_000_000 + int(micros), tuple(camera_id for camera_id, _ in lost)

    # inside: lives

    def _writable(self, camera_id: CameraId, incarnation: Incarnation) -> Life:
        life = self._ledger.get(camera_id)
        if life is None or life.incarnation != incarnation:
            raise StaleIncarnation(camera_id)
        return life

    def _pointing(self, camera_id: CameraId, seen: str, wanted: str) -> Command:
        return evaluate(POINT, [camera_key(self._redis.prefix, camera_id)], seen, wanted, self._ttl_ms)

    async def _point(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Make this the camera's present life, and end every other one that was."""
        seen = await self._life(camera_id)
        while seen != incarnation:
            if seen is not None:
                await self._bury(camera_id, seen)
            (reply,) = await self._link.run(camera_id, [self._pointing(camera_id, seen or "", incarnation)])
            seen = Incarnation(reply.decode()) if reply else None

    async def _unlist(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Take away that a camera is in this life, and, if it is in no other, that there is such a camera."""
        (reply,) = await self._link.run(camera_id, [self._pointing(camera_id, incarnation, "")])
        if not reply:
            await self._link.run(camera_id, [("ZREM", roll_key(self._redis.prefix), camera_id)])

    async def _keep_pointed(self, cameras: set[CameraId]) -> None:
        at_s = now_s()
        for camera_id in cameras:
            life = self._ledger.get(camera_id)
            if life is None or at_s - life.pointed_s < self._ttl_ms / 4e3:
                continue
            await self._link.run(camera_id, [self._pointing(camera_id, life.incarnation, life.incarnation)])
            life.pointed_s = at_s

    async def _bury(self, camera_id: CameraId, incarnation: Incarnation) -> int:
        keys = self._keys(camera_id, incarnation)
        grave_ms = self._redis.grave_ttl_us // 1000
        (reply,) = await self._link.run(camera_id, [evaluate(BURY, keys.all_declared(), keys.root, grave_ms)])
        # Frames that the index had lost, those lent, and those on their way in.
        await self._link.sweep(camera_id, keys.root + "[fs]:")
        return int(reply[1])

    async def _script(
        self, camera_id: CameraId, incarnation: Incarnation, script: Script, *arguments: str | bytes | int
    ) -> Reply:
        life = self._writable(camera_id, incarnation)
        command = evaluate(script, life.keys.all_declared(), life.keys.root, life.fence, *arguments)
        (reply,) = await self._link.run(camera_id, [command])
        if reply[0] != b"ok":
            raise refusal(camera_id, reply[0])
        return reply

    def _count_gone(self, reply: Reply, reason: str) -> None:
        if self._behind is not None:
            return  # the pool counts what ages out; this is a copy
        if reply[1]:
            self._meter.count(Metric.EVICTED, reply[1], reason=reason)
        if reply[5]:
            self._meter.count(Metric.RECORDS_EVICTED, reply[5], reason=reason)

    def _show_levels(self) -> None:
        self._meter.gauge(Metric.WINDOW_BYTES, self._ledger.size_bytes, tier=Tier.REDIS)
        self._meter.gauge(Metric.WINDOW_FRAMES, self._ledger.frames, tier=Tier.REDIS)


def refusal(camera_id: CameraId, word: bytes) -> StaleIncarnation:
    """Return the error of a script that refused to write."""
    return LifeMissing(camera_id) if word == b"missing" else StaleIncarnation(camera_id)


def now_s() -> float:
    """Return the event loop's time, for durations in this process only."""
    return asyncio.get_running_loop().time()


def _record_fields(record: Record) -> tuple[str | bytes | int, ...]:
    is_open = isinstance(record, Gap) and record.end_us is None
    end = "+inf" if is_open or record.end_us is None else record.end_us
    return (record.key, encode_record(record), record.start_us, end)
