"""Reads the published copy of any camera's window, from any process (``featcache.window.WindowReader``).

The sorted index is a hint: a frame it names may be gone, and a reader that notices takes the entry out. A value
that is not one of ours, whoever put it there, is counted and left out; it is never an error of the question.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from core.ids import CameraId, FrameRef, Incarnation, split_frame_ref
from core.meter import Meter, Metric
from core.records import Record
from core.spans import Span
from featcache.codec import ForgedValue, decode_frame
from featcache.codec_index import decode_entry
from featcache.codec_records import decode_record
from featcache.errors import UnknownCamera, WindowUnavailable
from featcache.redis_keys import LifeKeys, camera_key
from featcache.redis_link import Command, Fault, RedisLink, Reply, evaluate
from featcache.redis_scripts import HEAD, MEND
from featcache.redis_settings import RedisSettings
from featcache.shelf import reaches
from featcache.window import FrameInfo, Head, StoredFrame


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
        incarnation, _, (reply,) = await self._ask(
            camera_id, lambda keys: [evaluate(HEAD, keys.all_declared(), keys.root)]
        )
        if reply[0] != b"ok":
            raise UnknownCamera(camera_id)
        return _head(incarnation, reply)

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        _, _, (entries,) = await self._ask(
            camera_id, lambda keys: [("ZRANGEBYSCORE", keys.index, span.start_us, f"({span.end_us}")]
        )
        return self._infos(camera_id, entries)

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        limit = ("LIMIT", 0, max(0, count))
        _, _, (entries,) = await self._ask(
            camera_id, lambda keys: [("ZREVRANGEBYSCORE", keys.index, f"({before_us}", "-inf", *limit)]
        )
        return self._infos(camera_id, reversed(entries))

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        wanted: dict[CameraId, dict[int, None]] = {}
        parts = [split_frame_ref(ref) for ref in refs]
        for part in parts:
            wanted.setdefault(part.camera_id, {})[part.t_us] = None
        found: dict[FrameRef, StoredFrame] = {}
        for camera_id, times in wanted.items():
            try:
                frames = await self._frames(camera_id, tuple(times))
            except UnknownCamera:
                continue
            found.update((frame.ref, frame) for frame in frames)
        return tuple(found[ref] for ref in refs if ref in found)

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        return next(iter(await self._frames(camera_id, (t_us,))), None)

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        _, keys, (live,) = await self._ask(
            camera_id, lambda keys: [("ZRANGEBYSCORE", keys.ends, span.start_us, "+inf")]
        )
        if not live:
            return ()
        (values,) = await self._link.run(camera_id, [("HMGET", keys.records, *live)])
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
    ) -> tuple[Incarnation, LifeKeys, list[Reply]]:
        """Ask of the camera's present life. The remembered one is tried first; it may have ended meanwhile."""
        incarnation = self._lives.get(camera_id)
        for remembered in (True, False):
            if not remembered:
                incarnation = await self._life(camera_id)
            if incarnation is None:
                continue
            keys = self._keys(camera_id, incarnation)
            alive, *replies = await self._link.run(camera_id, [("HEXISTS", keys.life, "fence"), *make(keys)])
            if alive:
                return incarnation, keys, replies
        self._lives.pop(camera_id, None)
        raise UnknownCamera(camera_id)

    async def _frames(self, camera_id: CameraId, times: Sequence[int]) -> list[StoredFrame]:
        _, keys, (values,) = await self._ask(
            camera_id, lambda keys: [("MGET", *(keys.frame(t_us) for t_us in times))]
        )
        frames, missing = [], []
        for t_us, value in zip(times, values, strict=True):
            if value is None:
                missing.append(t_us)
                continue
            try:
                frames.append(decode_frame(value, camera_id=camera_id, t_us=t_us))
            except ForgedValue as error:
                self._refuse(error)
        if missing:
            await self._mend(camera_id, keys, missing)
        return frames

    async def _mend(self, camera_id: CameraId, keys: LifeKeys, missing: Sequence[int]) -> None:
        """Take entries out of the index whose frames are gone; where it cannot be written, leave them."""
        with suppress(WindowUnavailable):
            await self._link.run(camera_id, [evaluate(MEND, keys.all_declared(), keys.root, *missing)])

    def _infos(self, camera_id: CameraId, entries: Iterable[bytes]) -> tuple[FrameInfo, ...]:
        infos = []
        for entry in entries:
            try:
                infos.append(decode_entry(entry, camera_id=camera_id))
            except ForgedValue as error:
                self._refuse(error)
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
