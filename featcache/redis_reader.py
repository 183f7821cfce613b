"""Reads the published copy of any camera's window, from any process (``featcache.window.WindowReader``).

The sorted index is a hint: a frame it names may be gone, and a reader that notices mends it. A frame that only
its owner holds is asked for, and left out where it has not come within half a second. A value that is not one of
ours, whoever put it there, is counted and left out; it is never an error of the question.
"""

import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from core.frames import BadFeatures
from core.ids import CameraId, FrameRef, Incarnation, split_frame_ref
from core.meter import Meter, Metric
from core.records import Record
from core.spans import Span
from featcache.codec import ForgedValue, decode_frame
from featcache.codec_index import decode_entry, held_time
from featcache.codec_records import decode_record
from featcache.errors import UnknownCamera, WindowUnavailable
from featcache.narrow import widened
from featcache.redis_keys import LifeKeys, OwnerKeys, camera_key
from featcache.redis_link import Command, Fault, RedisLink, Reply, evaluate
from featcache.redis_requests import LIMIT_US, Request, ask
from featcache.redis_scripts import HEAD, MEND
from featcache.redis_settings import RedisSettings
from featcache.shelf import reaches
from featcache.window import FrameInfo, Head, StoredFrame, Tier

_OWNER = re.compile(rb"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Present:
    """A camera's present life as Redis tells of it.

    Attributes:
        owner: Who holds its pool; None where nobody says so.
        behind: Where the owner holds the frames that are spilled; None where nothing is.
    """

    incarnation: Incarnation
    keys: LifeKeys
    owner: str | None
    behind: Tier | None


class RedisReader:
    """Reads what workers have published. It keeps only which life each camera is in, and checks that each time."""

    def __init__(self, settings: RedisSettings, *, meter: Meter) -> None:
        self._redis = settings
        self._meter = meter
        self._link = RedisLink(settings)
        self._lives: dict[CameraId, Incarnation] = {}
        self._refused: Counter[str] = Counter()

    @property
    def fault(self) -> Fault | None:
        """Return why the last command failed; None if it did not."""
        return self._link.fault

    @property
    def refused(self) -> tuple[tuple[str, int], ...]:
        """Return how many values were found forged or damaged so far, by reason."""
        return tuple(sorted(self._refused.items()))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._link.aclose()

    async def head(self, camera_id: CameraId) -> Head:
        present, (reply,) = await self._ask(
            camera_id, lambda keys: [evaluate(HEAD, keys.all_declared(), keys.root)]
        )
        if reply[0] != b"ok":
            raise UnknownCamera(camera_id)
        return _head(present.incarnation, reply)

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        limits = (span.start_us, f"({span.end_us}")
        present, (entries, held) = await self._ask(
            camera_id,
            lambda keys: [("ZRANGEBYSCORE", key, *limits) for key in (keys.index, keys.held)],
        )
        return self._infos(camera_id, present, entries, held)

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        limits = (f"({before_us}", "-inf", "LIMIT", 0, max(0, count))
        present, (entries, held) = await self._ask(
            camera_id,
            lambda keys: [("ZREVRANGEBYSCORE", key, *limits) for key in (keys.index, keys.held)],
        )
        return self._infos(camera_id, present, reversed(entries), held)

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        found: dict[FrameRef, StoredFrame] = {}
        for camera_id, times in _by_camera(refs).items():
            try:
                frames = await self._frames(camera_id, times)
            except UnknownCamera:
                continue
            found.update((frame.ref, frame) for frame in frames)
        return tuple(found[ref] for ref in refs if ref in found)

    async def held_frames(self, camera_id: CameraId, times: Sequence[int]) -> list[StoredFrame]:
        """Return the frames of these moments that lie in Redis, as they are kept there; nobody is asked for others."""
        _, (values,) = await self._ask(
            camera_id, lambda keys: [("MGET", *(keys.frame(t_us) for t_us in times))]
        )
        return self._decoded(camera_id, times, values)[0]

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames lie in Redis, for others who read only that; return those that do.

        Raises InvalidFrameRef, WindowUnavailable.
        """
        there: set[tuple[CameraId, int]] = set()
        for camera_id, times in _by_camera(refs).items():
            try:
                there |= {(camera_id, t_us) for t_us in await self._present_times(camera_id, times)}
            except UnknownCamera:
                continue
        return tuple(ref for ref in refs if split_frame_ref(ref)[:2] in there)

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        return next(iter(await self._frames(camera_id, (t_us,))), None)

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        present, (live,) = await self._ask(
            camera_id, lambda keys: [("ZRANGEBYSCORE", keys.ends, span.start_us, "+inf")]
        )
        if not live:
            return ()
        (values,) = await self._link.run(camera_id, [("HMGET", present.keys.records, *live)])
        kept = self._records(value for value in values if value is not None)
        touching = [r for r in kept if r.start_us < span.end_us and reaches(r, span.start_us)]
        return tuple(sorted(touching, key=lambda record: (record.start_us, record.key)))

    # inside

    def _keys(self, camera_id: CameraId, incarnation: Incarnation) -> LifeKeys:
        return LifeKeys.of(self._redis.prefix, camera_id, incarnation)

    async def _life(self, camera_id: CameraId) -> Incarnation | None:
        """Return which life a camera is in, as Redis says now."""
        (value,) = await self._link.run(camera_id, [("GET", camera_key(self._redis.prefix, camera_id))])
        if value is None:
            self._lives.pop(camera_id, None)
            return None
        incarnation = Incarnation(value.decode(errors="replace"))
        self._lives[camera_id] = incarnation
        return incarnation

    async def _ask(
        self, camera_id: CameraId, make: Callable[[LifeKeys], list[Command]]
    ) -> tuple[Present, list[Reply]]:
        """Ask of the camera's present life. The remembered one is tried first; it may have ended meanwhile."""
        incarnation = self._lives.get(camera_id)
        for remembered in (True, False):
            if not remembered:
                incarnation = await self._life(camera_id)
            if incarnation is None:
                continue
            keys = self._keys(camera_id, incarnation)
            (fence, owner, behind), *replies = await self._link.run(
                camera_id, [("HMGET", keys.life, "fence", "owner", "behind"), *make(keys)]
            )
            if fence is not None:
                return _present(incarnation, keys, owner, behind), replies
        self._lives.pop(camera_id, None)
        raise UnknownCamera(camera_id)

    async def _frames(self, camera_id: CameraId, times: Sequence[int]) -> list[StoredFrame]:
        present, (values,) = await self._ask(
            camera_id, lambda keys: [("MGET", *(keys.frame(t_us) for t_us in times))]
        )
        frames, missing = self._decoded(camera_id, times, values)
        if missing and await self._ask_owner(camera_id, present, missing):
            (values,) = await self._link.run(
                camera_id, [("MGET", *(present.keys.frame(t_us) for t_us in missing))]
            )
            more, missing = self._decoded(camera_id, missing, values)
            frames += more
        if missing:
            await self._mend(camera_id, present.keys, missing)
        return self._widened(frames)

    def _decoded(
        self, camera_id: CameraId, times: Sequence[int], values: Sequence[bytes | None]
    ) -> tuple[list[StoredFrame], list[int]]:
        """Return the frames that are whole, and the times of those that are not there."""
        frames, missing = [], []
        for t_us, value in zip(times, values, strict=True):
            if value is None:
                missing.append(t_us)
                continue
            try:
                frames.append(decode_frame(value, camera_id=camera_id, t_us=t_us))
            except ForgedValue as error:
                self._refuse(error)
        return frames, missing

    def _widened(self, frames: Sequence[StoredFrame]) -> list[StoredFrame]:
        """Return frames as they are read, with features in 16 bit."""
        found = []
        for frame in frames:
            try:
                found.append(widened(frame))
            except BadFeatures:  # a scale too large for what was made of it
                self._refuse(ForgedValue("features"))
        return found

    async def _present_times(self, camera_id: CameraId, times: Sequence[int]) -> list[int]:
        def exist(keys: LifeKeys) -> list[Command]:
            return [("EXISTS", keys.frame(t_us)) for t_us in times]

        present, (found,) = await self._ask(
            camera_id, lambda keys: [("EXISTS", *(keys.frame(t_us) for t_us in times))]
        )
        if found == len(times):
            return list(times)  # one short reply, where all is well
        there = await self._link.run(camera_id, exist(present.keys))
        missing = [t_us for t_us, found in zip(times, there, strict=True) if not found]
        if missing and await self._ask_owner(camera_id, present, missing):
            there = await self._link.run(camera_id, exist(present.keys))
        return [t_us for t_us, found in zip(times, there, strict=True) if found]

    async def _ask_owner(self, camera_id: CameraId, present: Present, times: Sequence[int]) -> bool:
        """Ask the owner to put spilled frames into Redis; return whether it answered in time."""
        if present.owner is None or present.behind is None:
            return False
        keys = OwnerKeys.of(self._redis.prefix, present.owner)
        request = Request(camera_id, present.incarnation, tuple(times), secrets.token_hex(8))
        wait_s = min(LIMIT_US, self._redis.reply_timeout_us * 4 // 5) / 1e6
        began_s = time.monotonic()
        answered = False
        with suppress(WindowUnavailable):  # what can be read and not be written is read on
            (said,) = await self._link.run(camera_id, [ask(keys, request)])
            if said == b"asked":
                waiting = ("BLPOP", keys.reply(request.reply), f"{wait_s:.3f}")
                (reply,) = await self._link.run(camera_id, [waiting])
                answered = reply is not None
        self._meter.observe(Metric.PROMOTE_SECONDS, time.monotonic() - began_s)
        return answered

    async def _mend(self, camera_id: CameraId, keys: LifeKeys, missing: Sequence[int]) -> None:
        """Take frames out of the index that are gone; where it cannot be written, leave them."""
        with suppress(WindowUnavailable):
            await self._link.run(camera_id, [evaluate(MEND, keys.all_declared(), keys.root, *missing)])

    def _infos(
        self, camera_id: CameraId, present: Present, entries: Iterable[bytes], held: Sequence[bytes]
    ) -> tuple[FrameInfo, ...]:
        here = None if present.behind is None else {held_time(member) for member in held}
        infos = []
        for entry in entries:
            try:
                info = decode_entry(entry, camera_id=camera_id)
            except ForgedValue as error:
                self._refuse(error)
                continue
            if here is not None and info.t_us not in here and present.behind is not None:
                info = replace(info, tier=present.behind)
            infos.append(info)
        return tuple(infos)

    def _records(self, values: Iterable[bytes]) -> Iterator[Record]:
        for value in values:
            try:
                yield decode_record(value)
            except ForgedValue as error:
                self._refuse(error)

    def _refuse(self, error: ForgedValue) -> None:
        self._refused[error.reason] += 1
        self._meter.count(Metric.FEATURES_REFUSED)


def _head(incarnation: Incarnation, reply: Reply) -> Head:
    _, oldest, newest, mark, frames, size_bytes, next_seq = reply
    return Head(
        incarnation=incarnation,
        oldest_us=int(oldest) if oldest else None,
        newest_us=int(newest) if newest else None,
        evicted_before_us=int(mark) if mark else None,
        frames=frames,
        size_bytes=int(size_bytes),
        next_seq=int(next_seq),
    )


def _present(incarnation: Incarnation, keys: LifeKeys, owner: bytes | None, behind: bytes | None) -> Present:
    known = owner is not None and _OWNER.fullmatch(owner) is not None
    try:
        tier = Tier(behind.decode()) if behind else None
    except ValueError:
        tier = None
    return Present(incarnation, keys, owner.decode() if owner and known else None, tier)


def _by_camera(refs: Sequence[FrameRef]) -> dict[CameraId, tuple[int, ...]]:
    """Return the times asked of each camera, each once. Raises InvalidFrameRef."""
    wanted: dict[CameraId, dict[int, None]] = {}
    for part in [split_frame_ref(ref) for ref in refs]:
        wanted.setdefault(part.camera_id, {})[part.t_us] = None
    return {camera_id: tuple(times) for camera_id, times in wanted.items()}
