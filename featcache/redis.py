"""The published copy of the window in Redis, written by the worker that owns the cameras.

    window = RedisWindow(RedisSettings(url="unix:///run/redis.sock"), settings=Settings(), meter=meter)
    await window.open_camera(camera_id, incarnation)        # takes the next fencing number
    await window.put(frame, incarnation=incarnation)        # refused once somebody else opened or deleted it

Any process may read it, through ``RedisReader`` or this; see ``redis_keys`` for what lies where.
"""

import asyncio
import secrets
from collections.abc import Sequence

from core.errors import ServiceError
from core.ids import CameraId, Incarnation, InvalidFrameRef, split_frame_ref
from core.meter import Meter, Metric
from core.records import Gap, Record
from featcache.budget import fair_level, next_to_pay
from featcache.codec import encode_frame
from featcache.codec_index import encode_entry
from featcache.codec_records import encode_record
from featcache.errors import FrameTooLarge, StaleIncarnation, UnknownCamera, WindowUnavailable
from featcache.redis_keys import LifeKeys, camera_key
from featcache.redis_link import Command, Fault, Reply, evaluate
from featcache.redis_reader import RedisReader
from featcache.redis_scripts import BEGIN, BURY, COMMIT, EVICT, POINT, RECORD, TRIM
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame, Tier

_STAGED_MS = 30_000


class LifeMissing(StaleIncarnation):
    """Redis knows nothing of this life: it was emptied, or came back without its data. Open it again, republish."""


class _Held:
    """What this worker knows of a life it opened: its fencing number and what it holds."""

    def __init__(self, incarnation: Incarnation, keys: LifeKeys, fence: int, pointed_s: float) -> None:
        self.incarnation = incarnation
        self.keys = keys
        self.fence = fence
        self.pointed_s = pointed_s
        self.size_bytes = 0
        self.frames = 0
        self.oldest_us: int | None = None


class RedisWindow(RedisReader):
    """Writes and reads the published copy (``featcache.window.Window``). One event loop; its writes take turns."""

    def __init__(self, redis: RedisSettings, *, settings: Settings, meter: Meter) -> None:
        super().__init__(redis, meter=meter)
        self._settings = settings
        self._held: dict[CameraId, _Held] = {}
        self._turn = asyncio.Lock()

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
            ttl_ms = self._redis.ttl_us // 1000
            (reply,) = await self._link.run(
                camera_id, [evaluate(BEGIN, keys.all_declared(), keys.root, fence or 0, ttl_ms)]
            )
            if reply[0] != b"ok":
                raise StaleIncarnation(camera_id)
            await self._point(camera_id, incarnation)
            held = _Held(incarnation, keys, reply[1], asyncio.get_running_loop().time())
            (state,) = await self._link.run(camera_id, [evaluate(TRIM, keys.all_declared(), keys.root, 0)])
            _note(held, state)
            self._held[camera_id] = held
            self._lives[camera_id] = incarnation

    async def put(self, frame: StoredFrame, *, incarnation: Incarnation) -> None:
        """See ``Window.put``. Raises LifeMissing where Redis has lost this life."""
        (error,) = await self.put_many([(frame, incarnation)])
        if error is not None:
            raise error

    async def put_many(
        self, writes: Sequence[tuple[StoredFrame, Incarnation]]
    ) -> tuple[ServiceError | None, ...]:
        """Store frames in one go, in their order; return the error of each, None where it is stored.

        Raises WindowUnavailable where Redis does not answer; what was stored by then is not known, and storing
        it again does no harm.
        """
        async with self._turn:
            outcomes: list[ServiceError | None] = [self._judge(*write) for write in writes]
            todo = [i for i, outcome in enumerate(outcomes) if outcome is None]
            full = await self._put(writes, todo, outcomes)
            if full:
                await self._make_room(sum(held.size_bytes for held in self._held.values()) - full)
                again = [i for i in todo if isinstance(outcomes[i], WindowUnavailable)]
                await self._put(writes, again, outcomes)
            await self._make_room(self._redis.redis_budget_bytes)
            await self._keep_pointed({writes[i][0].camera_id for i in todo})
            self._show_levels()
            return tuple(outcomes)

    async def put_record(self, camera_id: CameraId, record: Record, *, incarnation: Incarnation) -> None:
        held = self._writable(camera_id, incarnation)
        is_open = isinstance(record, Gap) and record.end_us is None
        reply = await self._script(
            camera_id,
            evaluate(
                RECORD,
                held.keys.all_declared(),
                held.keys.root,
                held.fence,
                record.key,
                encode_record(record),
                record.start_us,
                "+inf" if is_open or record.end_us is None else record.end_us,
                self._settings.max_records,
                self._redis.ttl_us // 1000,
            ),
        )
        if reply[1]:
            self._meter.count(Metric.RECORDS_EVICTED, reply[1], reason="count")

    async def trim(self, camera_id: CameraId, *, before_us: int) -> int:
        async with self._turn:
            _, _, (reply,) = await self._ask(
                camera_id, lambda keys: [evaluate(TRIM, keys.all_declared(), keys.root, before_us)]
            )
            if reply[0] != b"ok":
                raise UnknownCamera(camera_id)
            if camera_id in self._held:
                _note(self._held[camera_id], reply)
            self._count_gone(reply, "trim")
            self._show_levels()
            return int(reply[1])

    async def delete_camera(self, camera_id: CameraId) -> int:
        """See ``Window.delete_camera``. Only a nameless mark stays, so that late writers are refused."""
        async with self._turn:
            self._held.pop(camera_id, None)
            incarnation = await self._life(camera_id)
            if incarnation is None:
                return 0
            gone = await self._bury(camera_id, incarnation)
            await self._link.run(camera_id, [self._pointing(camera_id, incarnation, "")])
            self._lives.pop(camera_id, None)
            self._show_levels()
            return gone

    # inside: lives

    def _writable(self, camera_id: CameraId, incarnation: Incarnation) -> _Held:
        held = self._held.get(camera_id)
        if held is None or held.incarnation != incarnation:
            raise StaleIncarnation(camera_id)
        return held

    def _pointing(self, camera_id: CameraId, seen: str, wanted: str) -> Command:
        key = camera_key(self._redis.prefix, camera_id)
        return evaluate(POINT, [key], seen, wanted, self._redis.ttl_us // 1000)

    async def _point(self, camera_id: CameraId, incarnation: Incarnation) -> None:
        """Make this the camera's present life, and end every other one that was."""
        seen = await self._life(camera_id)
        while seen != incarnation:
            if seen is not None:
                await self._bury(camera_id, seen)
            (reply,) = await self._link.run(camera_id, [self._pointing(camera_id, seen or "", incarnation)])
            seen = Incarnation(reply.decode()) if reply else None

    async def _keep_pointed(self, cameras: set[CameraId]) -> None:
        now_s = asyncio.get_running_loop().time()
        for camera_id in cameras:
            held = self._held.get(camera_id)
            if held is None or now_s - held.pointed_s < self._redis.ttl_us / 4e6:
                continue
            await self._link.run(camera_id, [self._pointing(camera_id, held.incarnation, held.incarnation)])
            held.pointed_s = now_s

    async def _bury(self, camera_id: CameraId, incarnation: Incarnation) -> int:
        keys = self._keys(camera_id, incarnation)
        grave_ms = self._redis.grave_ttl_us // 1000
        (reply,) = await self._link.run(camera_id, [evaluate(BURY, keys.all_declared(), keys.root, grave_ms)])
        for kind in ("f:", "s:"):  # frames that the index had lost, and those on their way in
            await self._link.sweep(camera_id, keys.root + kind)
        return int(reply[1])

    # inside: frames

    def _judge(self, frame: StoredFrame, incarnation: Incarnation) -> ServiceError | None:
        budget_bytes = self._redis.redis_budget_bytes
        try:
            parts = split_frame_ref(frame.ref)
            if (parts.camera_id, parts.t_us) != (frame.camera_id, frame.t_us):
                raise InvalidFrameRef(frame.ref)
            self._writable(frame.camera_id, incarnation)
        except (InvalidFrameRef, StaleIncarnation) as error:
            return error
        if frame.size_bytes > budget_bytes:
            return FrameTooLarge(frame.camera_id, frame.size_bytes, budget_bytes)
        return None

    async def _put(
        self,
        writes: Sequence[tuple[StoredFrame, Incarnation]],
        todo: Sequence[int],
        outcomes: list[ServiceError | None],
    ) -> int:
        """Send the frames of ``todo`` and note what came of them; return the bytes for which Redis had no room."""
        if not todo:
            return 0
        commands: list[Command] = []
        for i in todo:
            commands += self._storing(writes[i][0])
        replies = await self._link.attempt(writes[todo[0]][0].camera_id, commands)
        full = 0
        for n, i in enumerate(todo):
            frame = writes[i][0]
            outcomes[i] = self._outcome(frame, replies[2 * n], replies[2 * n + 1])
            if isinstance(outcomes[i], WindowUnavailable) and self._link.fault is Fault.FULL:
                full += 2 * frame.size_bytes
        return full

    def _storing(self, frame: StoredFrame) -> list[Command]:
        held, token = self._held[frame.camera_id], secrets.token_hex(8)
        ttl_ms = self._redis.ttl_us // 1000
        return [
            ("SET", held.keys.staged(token), encode_frame(frame), "PX", _STAGED_MS),
            evaluate(
                COMMIT,
                held.keys.all_declared(),
                held.keys.root,
                held.fence,
                token,
                frame.t_us,
                encode_entry(frame),
                frame.seq,
                self._settings.retention_us,
                ttl_ms,
            ),
        ]

    def _outcome(self, frame: StoredFrame, staged: Reply, committed: Reply) -> ServiceError | None:
        for reply in (staged, committed):
            if isinstance(reply, Exception):
                error = WindowUnavailable(frame.camera_id)
                error.__cause__ = reply
                return error
        match committed[0]:
            case b"ok" | b"late":
                _note(self._held[frame.camera_id], committed)
                self._count_gone(committed, "retention")
                if committed[0] == b"late":
                    self._meter.count(Metric.EVICTED, 1, reason="late")
                return None
            case b"unstaged":  # it expired or was evicted between two commands
                return WindowUnavailable(frame.camera_id)
            case word:
                return _refusal(frame.camera_id, word)

    async def _script(self, camera_id: CameraId, command: Command) -> Reply:
        (reply,) = await self._link.run(camera_id, [command])
        if reply[0] != b"ok":
            raise _refusal(camera_id, reply[0])
        return reply

    async def _make_room(self, budget_bytes: int) -> None:
        """Let the oldest frames of the cameras above the fair level go until all together fit."""
        lives = {camera_id: held for camera_id, held in self._held.items() if held.frames}
        total = sum(held.size_bytes for held in lives.values())
        level = fair_level([held.size_bytes for held in lives.values()], max(0, budget_bytes))
        gone = 0
        while total > budget_bytes:
            oldest = {c: held.oldest_us for c, held in lives.items() if held.oldest_us is not None}
            payer = next_to_pay({c: h.size_bytes for c, h in lives.items()}, oldest, level_bytes=level)
            if payer is None:
                break
            held = lives[payer]
            limit = min(
                (t for c, t in oldest.items() if c != payer and lives[c].size_bytes > level), default=1 << 60
            )
            arguments = (held.keys.root, held.fence, total - budget_bytes, level, limit)
            (reply,) = await self._link.run(payer, [evaluate(EVICT, held.keys.all_declared(), *arguments)])
            if reply[0] != b"ok":  # taken over or lost; the next write says so
                held.size_bytes, held.frames, held.oldest_us = 0, 0, None
            else:
                _note(held, reply)
                gone += reply[1]
            total = sum(held.size_bytes for held in lives.values())
        if gone:
            self._meter.count(Metric.EVICTED, gone, reason="budget")

    def _count_gone(self, reply: Reply, reason: str) -> None:
        if reply[1]:
            self._meter.count(Metric.EVICTED, reply[1], reason=reason)
        if reply[5]:
            self._meter.count(Metric.RECORDS_EVICTED, reply[5], reason=reason)

    def _show_levels(self) -> None:
        held = self._held.values()
        self._meter.gauge(Metric.WINDOW_BYTES, sum(life.size_bytes for life in held), tier=Tier.REDIS)
        self._meter.gauge(Metric.WINDOW_FRAMES, sum(life.frames for life in held), tier=Tier.REDIS)


def _note(held: _Held, state: Reply) -> None:
    """Take over what a script says of a life: bytes, frames, oldest time."""
    _, _, held.size_bytes, held.frames, oldest, _ = state
    held.oldest_us = int(oldest) if oldest else None


def _refusal(camera_id: CameraId, word: bytes) -> StaleIncarnation:
    return LifeMissing(camera_id) if word == b"missing" else StaleIncarnation(camera_id)
