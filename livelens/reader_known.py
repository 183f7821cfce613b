"""What a process that takes no cameras in knows of those that others take in. Pure: time comes as an argument.

``mono_us`` is this process's monotonic time. How old a bulletin is, is measured by Redis' own clock, so that clocks
of machines need not agree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from core.cameras import Camera, CameraState, StateReport
from core.ids import CameraId, Incarnation
from featcache.bulletin import Bulletin
from featcache.directory import Roll
from livelens.errors import OwnerAway
from web.ports import CameraStatus

SILENT_AFTER_US = 5_000_000
"""An owner tells of its cameras once a second; one that is not heard of for so long is taken to be gone."""

LOST_KEPT_US = 60_000_000
"""A camera that Redis has lost is kept so long: its owner, if it lives, publishes it anew within seconds."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A camera.

    Attributes:
        heard_us: When its owner told of it, monotonic.
        ahead_us: How far the owner's clock was ahead of Redis' then.
        lost_us: Since when Redis has lost it, monotonic; None while it is there.
    """

    bulletin: Bulletin
    heard_us: int
    ahead_us: int = 0
    lost_us: int | None = None


class KnownCameras:
    """The cameras of the last looks."""

    def __init__(self) -> None:
        self._known: dict[CameraId, _Known] = {}

    def __contains__(self, camera_id: CameraId) -> bool:
        return camera_id in self._known

    def __iter__(self) -> Iterator[CameraId]:
        return iter(sorted(self._known))

    @property
    def lives(self) -> Mapping[CameraId, Incarnation]:
        """Return which life each camera was last seen in."""
        return {camera_id: known.bulletin.camera.incarnation for camera_id, known in self._known.items()}

    def take(self, roll: Roll, *, mono_us: int) -> None:
        """Take over what one look at Redis has found."""
        for camera_id, listed in roll.cameras.items():
            heard_us = mono_us - max(0, roll.redis_us - listed.told_us)
            ahead_us = listed.bulletin.at_us - listed.told_us
            self._known[camera_id] = _Known(listed.bulletin, heard_us, ahead_us)
        for camera_id, known in tuple(self._known.items()):
            if camera_id in roll.cameras:
                continue
            lost_us = mono_us if known.lost_us is None else known.lost_us
            if camera_id in roll.ended or mono_us - lost_us > LOST_KEPT_US:
                del self._known[camera_id]
            else:
                self._known[camera_id] = replace(known, lost_us=lost_us)

    def camera(self, camera_id: CameraId) -> Camera:
        """Return a camera that is known."""
        return self._known[camera_id].bulletin.camera

    def silent_since_us(self, camera_id: CameraId, *, mono_us: int) -> int | None:
        """Return the owner's time when it was last heard of; None while it is, and for a camera nobody knows."""
        known = self._known.get(camera_id)
        if known is None or mono_us - known.heard_us <= SILENT_AFTER_US:
            return None
        return known.bulletin.at_us

    def status(self, camera_id: CameraId, *, mono_us: int, answered_by: str) -> CameraStatus:
        """Return what a camera that is known is doing, as far as anybody here can tell."""
        bulletin = self._known[camera_id].bulletin
        silent = self.silent_since_us(camera_id, mono_us=mono_us) is not None
        report = _unheard(bulletin) if silent else bulletin.report
        rate = 0.0 if silent else bulletin.frame_rate
        return CameraStatus(report, bulletin.kept, rate, bulletin.delay_s, answered_by)

    def furthest_ahead(self) -> tuple[CameraId, int] | None:
        """Return the camera whose owner's clock is furthest from Redis', and how far it is ahead; None without any."""
        found = [(camera_id, known.ahead_us) for camera_id, known in self._known.items()]
        return max(found, key=lambda one: abs(one[1]), default=None)

    def encoded(self, camera_id: CameraId) -> bool:
        """Return whether the newest frame of a camera that is known has features."""
        return self._known[camera_id].bulletin.encoded


def _unheard(bulletin: Bulletin) -> StateReport:
    report = bulletin.report
    if report.state is CameraState.DISABLED:
        return report
    return replace(
        report,
        state=CameraState.OFFLINE,
        since_us=bulletin.at_us,
        code=OwnerAway.code,
        message=str(OwnerAway()),
    )
