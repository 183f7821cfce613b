"""Which cameras there are in Redis, and what their owners tell of them; read from any process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from core.ids import CameraId, Incarnation, InvalidCameraId, parse_camera_id
from core.meter import Meter, Metric
from featcache.bulletin import Bulletin, decode_bulletin
from featcache.codec import ForgedValue
from featcache.redis_keys import LifeKeys, camera_key, roll_key
from featcache.redis_link import Command, Fault, RedisLink, Reply, evaluate
from featcache.redis_scripts import ROLL
from featcache.redis_settings import RedisSettings

_NOBODY = CameraId("")
_LIVES_AT_ONCE = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed:
    """What an owner tells of a camera, and Redis' own time when that came, µs."""

    bulletin: Bulletin
    told_us: int


@dataclass(frozen=True, slots=True)
class Roll:
    """What there was at one look.

    Attributes:
        redis_us: Redis' own time, µs since 1970.
        cameras: By id; those whose bulletin is forged, or has not come yet, are left out.
        ended: Of the lives that were known: those that were deleted. One that is neither here nor listed was lost.
    """

    redis_us: int
    cameras: Mapping[CameraId, Listed]
    ended: frozenset[CameraId]


class RedisDirectory:
    """Looks at what is there. It keeps nothing; one event loop."""

    def __init__(self, settings: RedisSettings, *, meter: Meter) -> None:
        self._redis = settings
        self._meter = meter
        self._link = RedisLink(settings)

    @property
    def fault(self) -> Fault | None:
        """Return why the last look failed; None if it did not."""
        return self._link.fault

    async def aclose(self) -> None:
        """Close the connections."""
        await self._link.aclose()

    async def look(self, known: Mapping[CameraId, Incarnation]) -> Roll:
        """Return the cameras that are there, three round trips however many; ``known`` are those seen before.

        Raises WindowUnavailable.
        """
        (((seconds, micros), members),) = await self._link.run(
            _NOBODY, [evaluate(ROLL, [roll_key(self._redis.prefix)])]
        )
        cameras = tuple(dict.fromkeys([*_ids(members), *known]))
        lives = await self._lives(cameras)
        cameras_found: dict[CameraId, Listed] = {}
        ended: set[CameraId] = set()
        asked = [(c, lives.get(c) or known[c]) for c in cameras if c in lives or c in known]
        for (camera_id, incarnation), (bulletin, told, gone) in zip(
            asked, await self._told(asked), strict=True
        ):
            if bulletin is not None and told is not None and camera_id in lives:
                self._take(cameras_found, camera_id, incarnation, bulletin, told)
            elif gone and known.get(camera_id) == incarnation:
                ended.add(camera_id)
        redis_us = int(seconds) * 1_000_000 + int(micros)
        return Roll(redis_us, cameras_found, frozenset(ended))

    # inside

    async def _lives(self, cameras: Iterable[CameraId]) -> dict[CameraId, Incarnation]:
        """Return which life each camera is in; those that are in none are left out."""
        found: dict[CameraId, Incarnation] = {}
        for some in _batches(tuple(cameras)):
            replies = await self._link.run(
                _NOBODY, [("GET", camera_key(self._redis.prefix, camera_id)) for camera_id in some]
            )
            for camera_id, reply in zip(some, replies, strict=True):
                if reply is not None:
                    found[camera_id] = Incarnation(reply.decode(errors="replace"))
        return found

    async def _told(
        self, lives: Iterable[tuple[CameraId, Incarnation]]
    ) -> list[tuple[bytes | None, bytes | None, bool]]:
        """Return of each life the bulletin, when it came, and whether the life has ended."""
        told: list[tuple[bytes | None, bytes | None, bool]] = []
        for some in _batches(tuple(lives)):
            commands: list[Command] = []
            for camera_id, incarnation in some:
                keys = LifeKeys.of(self._redis.prefix, camera_id, incarnation)
                commands += [("HMGET", keys.life, "bulletin", "told"), ("EXISTS", keys.gone)]
            replies: list[Reply] = await self._link.run(_NOBODY, commands)
            told += [
                (bulletin, when, bool(gone))
                for (bulletin, when), gone in zip(replies[::2], replies[1::2], strict=True)
            ]
        return told

    def _take(
        self,
        found: dict[CameraId, Listed],
        camera_id: CameraId,
        incarnation: Incarnation,
        value: bytes,
        told: bytes,
    ) -> None:
        try:
            bulletin = decode_bulletin(value, camera_id=camera_id, incarnation=incarnation)
            found[camera_id] = Listed(bulletin, _time(told))
        except ForgedValue:
            self._meter.count(Metric.FEATURES_REFUSED)


def _ids(members: Iterable[bytes]) -> list[CameraId]:
    """Return what are ids of cameras; whatever else is on the list is passed over."""
    found = []
    for member in members:
        try:
            found.append(parse_camera_id(member.decode(errors="replace")))
        except InvalidCameraId:
            continue
    return found


def _time(value: bytes) -> int:
    if not value.isdigit() or len(value) > 17:
        raise ForgedValue("bulletin")
    return int(value)


def _batches(items: Sequence[T]) -> list[Sequence[T]]:
    return [items[at : at + _LIVES_AT_ONCE] for at in range(0, len(items), _LIVES_AT_ONCE)]
