"""The cameras that other processes take in, as this one shows them: looked for in Redis, and never changed from here."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from core.cameras import Camera, CameraState, ProbeReport, Source
from core.channel import Channel
from core.clock import Clock
from core.ids import CameraId, Incarnation
from core.meter import Meter, Metric
from featcache import UnknownCamera, WindowUnavailable
from featcache.directory import Roll
from featcache.redis_link import Fault
from featcache.redis_state import ok_in_words
from livelens.errors import CamerasElsewhere
from livelens.listeners import Change, Listeners
from livelens.reader_known import KnownCameras
from web.ports import CameraPatch, CameraStatus, NewCamera

_log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
AGAIN_AFTER_S = 0.25
"""After a look that failed: questions are refused until one works."""
APART_US = 1_000_000
"""Clocks this far apart are told of: questions about the last seconds would miss what is newer than ours."""

_ALL = CameraId("")


class Directory(Protocol):
    """Finds the cameras there are (``featcache.directory.RedisDirectory``)."""

    @property
    def fault(self) -> Fault | None:
        """Return why the last look failed; None if it did not."""

    async def look(self, known: Mapping[CameraId, Incarnation]) -> Roll:
        """Return what is there. Raises WindowUnavailable."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How the last look went: whether it worked, why not, and Redis' clock less ours where it was measured."""

    reached: bool
    fault: Fault | None = None
    clock_offset_us: int | None = None

    def in_words(self) -> str:
        """Return one line for people."""
        if self.reached:
            return ok_in_words(self.clock_offset_us)
        return "not reached yet" if self.fault is None else f"{self.fault.in_words()}; questions are refused"


class PublishedCameras:
    """Implements ``web.ports.CameraRegistry`` over what owners tell of their cameras.

    Args:
        answered_by: Names who answers here, told whether a camera's newest frame has features.
    """

    def __init__(
        self, directory: Directory, *, clock: Clock, meter: Meter, answered_by: Callable[[bool], str]
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._meter = meter
        self._answered_by = answered_by
        self._known = KnownCameras()
        self._told: dict[CameraId, CameraStatus] = {}
        self._listeners = Listeners()
        self._loaded = False
        self.sight = Sight(False)
        meter.gauge(Metric.REDIS_UP, 0)

    async def run(self, started: asyncio.Event) -> None:
        """Look again and again until cancelled; ``started`` is set after the first look, however it went."""
        while True:
            await self._look()
            started.set()
            await asyncio.sleep(LOOK_EVERY_S if self.sight.reached else AGAIN_AFTER_S)

    # -- web.ports.CameraRegistry

    def list(self) -> tuple[Camera, ...]:
        """Return all cameras by id, while Redis is away those last known. Raises WindowUnavailable before the first look."""
        if not self._loaded:
            raise WindowUnavailable(_ALL)
        return tuple(self._known.camera(camera_id) for camera_id in self._known)

    def get(self, camera_id: CameraId) -> Camera:
        """Return one. Raises UnknownCamera; WindowUnavailable for one that may be there, were Redis."""
        self._check(camera_id)
        return self._known.camera(camera_id)

    def status(self, camera_id: CameraId) -> CameraStatus:
        self._check(camera_id)
        return self._status(camera_id)

    async def add(self, new: NewCamera) -> Camera:  # noqa: ARG002  the protocol's
        raise CamerasElsewhere

    async def update(self, camera_id: CameraId, patch: CameraPatch) -> Camera:  # noqa: ARG002  the protocol's
        raise CamerasElsewhere

    async def remove(self, camera_id: CameraId) -> int:  # noqa: ARG002  the protocol's
        raise CamerasElsewhere

    async def probe(self, source: Source) -> ProbeReport:  # noqa: ARG002  the protocol's
        raise CamerasElsewhere

    def changes(self) -> AbstractAsyncContextManager[Channel[Change]]:
        return self._listeners.listening()

    # -- for the root

    @property
    def any_online(self) -> bool:
        """Return False: no camera sends to this process, so that it may follow the host's clock at any time."""
        return False

    @property
    def reached(self) -> bool:
        """Return whether Redis answered at the last look."""
        return self.sight.reached

    def knows(self, camera_id: CameraId) -> bool:
        """Return whether there is such a camera, as far as was seen."""
        return camera_id in self._known

    def silent_since_us(self, camera_id: CameraId) -> int | None:
        """Return since when nothing is heard of a camera's owner, in stream time; None while it is at work."""
        return self._known.silent_since_us(camera_id, mono_us=self._clock.mono_us())

    def clocks_in_words(self) -> str | None:
        """Return which owner's clock is too far from ours, and how far; None where none is, or nobody knows."""
        furthest, offset_us = self._known.furthest_ahead(), self.sight.clock_offset_us
        if furthest is None or offset_us is None:
            return None
        camera_id, ahead_us = furthest
        if abs(ahead_us + offset_us) < APART_US:
            return None
        return f"where {camera_id} comes in the clock is {(ahead_us + offset_us) / 1e6:+.1f} s from ours"

    def measure(self) -> None:
        """Set the gauges that count cameras."""
        states = [self._status(camera_id).report.state for camera_id in self._known]
        for state in CameraState:
            self._meter.gauge(Metric.CAMERAS, states.count(state), state=state.value)

    # -- inside

    def _check(self, camera_id: CameraId) -> None:
        if camera_id in self._known:
            return
        if not self.sight.reached:
            raise WindowUnavailable(camera_id)
        raise UnknownCamera(camera_id)

    def _status(self, camera_id: CameraId) -> CameraStatus:
        name = self._answered_by(self._known.encoded(camera_id))
        return self._known.status(camera_id, mono_us=self._clock.mono_us(), answered_by=name)

    async def _look(self) -> None:
        asked_us = self._clock.now_us()
        try:
            roll = await self._directory.look(self._known.lives)
        except WindowUnavailable as error:
            self._failed(error)
        else:
            self._known.take(roll, mono_us=self._clock.mono_us())
            self._loaded = True
            self._reached(roll.redis_us - (asked_us + self._clock.now_us()) // 2)
        self._tell()

    def _reached(self, offset_us: int) -> None:
        if not self.sight.reached:
            _log.info("Redis answers; so do we", extra={"cameras": len(tuple(self._known))})
            self._meter.gauge(Metric.REDIS_UP, 1)
        self._meter.gauge(Metric.REDIS_CLOCK_OFFSET_SECONDS, offset_us / 1e6)
        self.sight = Sight(True, clock_offset_us=offset_us)

    def _failed(self, error: WindowUnavailable) -> None:
        fault = self._directory.fault or Fault.OTHER
        if self.sight.reached or self.sight.fault is None:
            cause = error.__cause__
            _log.warning(
                "Redis does not answer, so questions are refused",
                extra={"fault": fault, "cause": f"{type(cause).__name__}: {cause}"},
            )
            self._meter.count(Metric.REDIS_OUTAGES, fault=fault)
            self._meter.gauge(Metric.REDIS_UP, 0)
        self.sight = Sight(False, fault)

    def _tell(self) -> None:
        """Tell listeners what has changed since the last look."""
        now = {camera_id: self._status(camera_id) for camera_id in self._known}
        for camera_id in self._told.keys() - now.keys():
            self._listeners.tell((camera_id, None))
        for camera_id, status in now.items():
            if self._told.get(camera_id) != status:
                self._listeners.tell((camera_id, status))
        self._told = now
