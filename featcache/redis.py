"""The published copy of the window in Redis, written by the worker that owns the cameras.

    window = RedisWindow(RedisSettings(url="unix:///run/redis.sock"), settings=Settings(), meter=meter)
    await window.open_camera(camera_id, incarnation)        # takes the next fencing number
    await window.put(frame, incarnation=incarnation)        # refused once somebody else opened or deleted it

Any process may read it, through ``RedisReader`` or this; see ``redis_keys`` for what lies where.
"""

import secrets
from collections.abc import Sequence

from core.errors import ServiceError
from core.ids import CameraId, Incarnation, InvalidFrameRef, split_frame_ref
from core.meter import Metric
from featcache.codec import frame_pieces
from featcache.codec_index import encode_entry, held_time
from featcache.errors import FrameTooLarge, StaleIncarnation, WindowUnavailable
from featcache.redis_ledger import Life
from featcache.redis_link import Command, Fault, Reply, evaluate, fault_of
from featcache.redis_lives import AT_ONCE, LifeMissing, RedisLives, now_s, refusal
from featcache.redis_pieces import Pieces
from featcache.redis_scripts import COMMIT, EVICT, FORGET, LEND, LIST
from featcache.window import FrameInfo, StoredFrame

__all__ = ["LifeMissing", "RedisWindow"]

_STAGED_MS = 30_000
_LENT_MS = 30_000


class RedisWindow(RedisLives):
    """Writes and reads the published copy (``featcache.window.Window``)."""

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
                await self._make_room(self._ledger.full(2 * full, now_s=now_s()))
                again = [i for i in todo if isinstance(outcomes[i], WindowUnavailable)]
                await self._put(writes, again, outcomes)
            await self._make_room(self._ledger.room_bytes(now_s()))
            await self._keep_pointed({writes[i][0].camera_id for i in todo})
            self._show_levels()
            return tuple(outcomes)

    def storing(self, frames: Sequence[StoredFrame], *, incarnation: Incarnation) -> list[Command]:
        """Return the commands that store frames of one camera. Raises StaleIncarnation."""
        life = self._writable(frames[0].camera_id, incarnation)
        tokens, commands = _staging(life, frames)
        arguments: list[str | bytes | int] = []
        for token, frame in zip(tokens, frames, strict=True):
            arguments += [token, frame.t_us, encode_entry(frame), frame.seq]
        head = (life.keys.root, life.fence, self._settings.retention_us, self._ttl_ms)
        return [*commands, evaluate(COMMIT, life.keys.all_declared(), *head, *arguments)]

    async def put_index(
        self, camera_id: CameraId, infos: Sequence[FrameInfo], *, incarnation: Incarnation
    ) -> None:
        """List frames that this worker holds, without their values."""
        for at in range(0, len(infos), AT_ONCE):
            listed = [field for info in infos[at : at + AT_ONCE] for field in (info.t_us, encode_entry(info))]
            await self._script(camera_id, incarnation, LIST, self._ttl_ms, *listed)

    async def forget(self, camera_id: CameraId, times: Sequence[int], *, incarnation: Incarnation) -> None:
        """Take frames out that nobody holds any more, without moving the eviction mark."""
        for at in range(0, len(times), AT_ONCE):
            await self._script(camera_id, incarnation, FORGET, *times[at : at + AT_ONCE])

    async def lend(
        self, frames: Sequence[StoredFrame], *, incarnation: Incarnation
    ) -> tuple[StoredFrame, ...]:
        """Put spilled frames of one camera into Redis for half a minute; return those that lie there now.

        Does not wait for writers. Raises StaleIncarnation, WindowUnavailable.
        """
        at_s, until_s = now_s(), now_s() + _LENT_MS / 1000
        frames = [f for f in frames if self._ledger.lend(f.size_bytes, now_s=at_s, until_s=until_s)]
        if not frames:
            return ()
        camera_id = frames[0].camera_id
        life = self._writable(camera_id, incarnation)
        tokens, commands = _staging(life, frames)
        lent: list[str | bytes | int] = []
        for token, frame in zip(tokens, frames, strict=True):
            lent += [token, frame.t_us, encode_entry(frame)]
        head = (life.keys.root, life.fence, _LENT_MS)
        lending = evaluate(LEND, life.keys.all_declared(), *head, *lent)
        replies = await self._link.attempt(camera_id, [*commands, lending])
        if self._link.fault is Fault.FULL:
            async with self._turn:
                await self._make_room(self._ledger.full(2 * sum(f.size_bytes for f in frames), now_s=at_s))
            replies = await self._link.attempt(camera_id, [*commands, lending])
        reply = replies[-1]
        if isinstance(reply, Exception):
            raise WindowUnavailable(camera_id) from reply
        if reply[0] != b"ok":
            raise refusal(camera_id, reply[0])
        return tuple(frame for frame, word in zip(frames, reply[1].decode(), strict=True) if word in "lh")

    def has_room(self, camera_id: CameraId, size_bytes: int) -> bool:
        """Return whether a camera's older frames may be published without newer ones leaving for them."""
        return self._ledger.has_room(camera_id, size_bytes, now_s=now_s())

    def oldest_held_us(self, camera_id: CameraId) -> int | None:
        """Return the time of the oldest frame published, as of the last write; None where there is none."""
        life = self._ledger.get(camera_id)
        return life.oldest_us if life else None

    async def held_times(self, camera_id: CameraId) -> tuple[int, ...]:
        """Return the times of the frames whose values lie in Redis, oldest first."""
        _, (members,) = await self._ask(camera_id, lambda keys: [("ZRANGE", keys.held, 0, -1)])
        return tuple(t_us for t_us in map(held_time, members) if t_us is not None)

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
        """Send the frames of ``todo`` and note what came of them; return the bytes for which Redis had no room.

        One script takes in all frames of one camera.
        """
        batches: dict[CameraId, list[int]] = {}
        for i in todo:
            batches.setdefault(writes[i][0].camera_id, []).append(i)
        commands: list[Command] = []
        for batch in batches.values():
            commands += self.storing([writes[i][0] for i in batch], incarnation=writes[batch[0]][1])
        if not commands:
            return 0
        replies = iter(await self._link.attempt(writes[todo[0]][0].camera_id, commands))
        full = 0
        for camera_id, batch in batches.items():
            staged = [next(replies) for _ in batch]
            said = self._committed(camera_id, next(replies), len(batch))
            for i, reply, word in zip(batch, staged, said, strict=True):
                failure = reply if isinstance(reply, Exception) else word
                outcomes[i] = _outcome(camera_id, failure)
                if isinstance(failure, Exception) and fault_of(failure) is Fault.FULL:
                    full += writes[i][0].size_bytes
        return full

    def _committed(self, camera_id: CameraId, reply: Reply, count: int) -> list[Exception | str]:
        """Return what became of each frame: ``k`` kept, ``l`` late, ``u`` no longer staged, or an error."""
        if isinstance(reply, Exception):
            return [reply] * count
        if reply[0] != b"ok":
            return [refusal(camera_id, reply[0])] * count
        life = self._ledger.get(camera_id)
        if life is not None:
            life.note(*reply[2:5])
        self._count_gone(reply, "retention")
        words = list(reply[6].decode())
        if "l" in words and self._behind is None:
            self._meter.count(Metric.EVICTED, words.count("l"), reason="late")
        return [*words]

    async def _make_room(self, budget_bytes: int) -> None:
        """Let the oldest frames of the cameras above the fair level go until all together fit."""
        gone = 0
        while (payment := self._ledger.next_payment(budget_bytes)) is not None:
            life = self._ledger.get(payment.camera_id)
            if life is None:
                break
            limits = (
                payment.free_bytes,
                payment.level_bytes,
                payment.limit_us,
                int(self._behind is not None),
            )
            command = evaluate(EVICT, life.keys.all_declared(), life.keys.root, life.fence, *limits)
            (reply,) = await self._link.run(payment.camera_id, [command])
            if reply[0] != b"ok":  # taken over or lost; the next write says so
                life.lost()
            else:
                before = (life.size_bytes, life.frames)
                life.note(*reply[2:5])
                gone += reply[1]
                if before == (life.size_bytes, life.frames):
                    break  # nothing there to let go of, whatever the counts say
        if gone:
            self._meter.count(Metric.EVICTED, gone, reason="budget" if self._behind is None else "spilled")


def _staging(life: Life, frames: Sequence[StoredFrame]) -> tuple[list[str], list[Command]]:
    """Return the tokens that frames are staged under, and the commands that do it."""
    tokens = [secrets.token_hex(8) for _ in frames]
    commands: list[Command] = [
        ("SET", life.keys.staged(token), Pieces(frame_pieces(frame)), "PX", _STAGED_MS)
        for token, frame in zip(tokens, frames, strict=True)
    ]
    return tokens, commands


def _outcome(camera_id: CameraId, said: Exception | str) -> ServiceError | None:
    if isinstance(said, StaleIncarnation):
        return said
    if said in ("k", "l"):
        return None
    error = WindowUnavailable(camera_id)  # also where it expired or was evicted between two commands
    error.__cause__ = said if isinstance(said, Exception) else None
    return error
