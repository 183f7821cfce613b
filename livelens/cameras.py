"""All cameras of this process: registered, restored, run, changed, removed.

Each enabled camera has one supervisor task that runs its road and, should the road fail for a reason nobody
foresaw, logs it, waits and runs it again. The others never notice.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from core.cameras import Camera, CameraState, ProbeReport, Source
from core.channel import Channel
from core.errors import ServiceError
from core.ids import CameraId, IdSource
from core.meter import Metric
from core.records import GapReason
from featcache import UnknownCamera
from ingest import check_source, probe
from livelens.listeners import Change, Listeners
from livelens.road import Road, RoadParts
from store import Store
from web.ports import CameraPatch, CameraStatus, NewCamera

_log = logging.getLogger(__name__)

RESTART_PAUSES_S = (1.0, 2.0, 5.0, 15.0, 30.0)
MARK_EVERY_S = 5.0


@dataclass(slots=True)
class _Entry:
    road: Road
    task: asyncio.Task[None] | None = None


class Cameras:
    """Implements ``web.ports.CameraRegistry`` over the store and the roads."""

    def __init__(
        self, store: Store, parts: RoadParts, *, ids: IdSource, answered_by: Callable[[Road], str]
    ) -> None:
        self._store = store
        self._parts = parts
        self._ids = ids
        self._answered_by = answered_by
        self._entries: dict[CameraId, _Entry] = {}
        self._listeners = Listeners()
        self._tasks: asyncio.TaskGroup | None = None
        self._changing = asyncio.Lock()

    async def run(self, started: asyncio.Event) -> None:
        """Restore the registered cameras and run all until cancelled; ``started`` is set once they run."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                for camera in await self._store.cameras.list():
                    floor_us = await self._store.cameras.last_t_us(camera.id)
                    self._begin(camera, floor_us=floor_us)
                started.set()
                tasks.create_task(self._mark_regularly(), name="cameras:mark")
        finally:
            self._tasks = None
            await self._mark()

    # -- web.ports.CameraRegistry

    def list(self) -> tuple[Camera, ...]:
        return tuple(self._entries[camera_id].road.camera for camera_id in sorted(self._entries))

    def get(self, camera_id: CameraId) -> Camera:
        return self._road(camera_id).camera

    def status(self, camera_id: CameraId) -> CameraStatus:
        road = self._road(camera_id)
        return CameraStatus(road.report, road.kept, road.frame_rate, road.delay_s, self._answered_by(road))

    async def add(self, new: NewCamera) -> Camera:
        check_source(new.source, self._parts.feeds)
        camera = Camera(
            new.id,
            new.name,
            new.source,
            new.zone,
            self._ids.incarnation(),
            self._parts.clock.now_us(),
            new.enabled,
        )
        async with self._changing:
            await self._store.cameras.add(camera)
            self._begin(camera, floor_us=None)
        return camera

    async def update(self, camera_id: CameraId, patch: CameraPatch) -> Camera:
        async with self._changing:
            old = self._road(camera_id).camera
            if patch.source is not None:
                check_source(patch.source, self._parts.feeds)
            changes = {
                field: value
                for field in ("name", "source", "zone", "enabled")
                if (value := getattr(patch, field)) is not None
            }
            camera = replace(old, **changes)
            await self._store.cameras.update(camera)
            if (camera.source, camera.enabled) == (old.source, old.enabled):
                self._road(camera_id).camera = camera
                self._tell(camera_id)
            else:
                entry = self._entries[camera_id]
                await self._halt(entry)
                self._begin(
                    camera,
                    floor_us=entry.road.last_t_us,
                    floor_reason=GapReason.DISABLED,
                    first_seq=entry.road.next_seq,
                )
        return camera

    async def remove(self, camera_id: CameraId) -> int:
        async with self._changing:
            entry = self._entries.get(camera_id)
            if entry is None:
                raise UnknownCamera(camera_id)
            await self._halt(entry)
            del self._entries[camera_id]
            frames = await self._parts.window.delete_camera(camera_id)
            await self._store.cameras.delete(camera_id)
        self._listeners.tell((camera_id, None))
        _log.info("camera removed", extra={"camera_id": camera_id, "frames": frames})
        return frames

    async def probe(self, source: Source) -> ProbeReport:
        return await probe(source, settings=self._parts.ingest, feeds=self._parts.feeds)

    def changes(self) -> AbstractAsyncContextManager[Channel[Change]]:
        return self._listeners.listening()

    # -- for the root

    def road(self, camera_id: CameraId) -> Road:
        """Return a camera's road. Raises UnknownCamera."""
        return self._road(camera_id)

    @property
    def any_online(self) -> bool:
        """Return whether frames of any camera are coming in."""
        return any(entry.road.report.state is CameraState.ONLINE for entry in self._entries.values())

    def measure(self) -> None:
        """Set the gauges that count cameras."""
        states = [entry.road.report.state for entry in self._entries.values()]
        for state in CameraState:
            self._parts.meter.gauge(Metric.CAMERAS, states.count(state), state=state.value)

    # -- inside

    def _road(self, camera_id: CameraId) -> Road:
        try:
            return self._entries[camera_id].road
        except KeyError:
            raise UnknownCamera(camera_id) from None

    def _begin(
        self,
        camera: Camera,
        *,
        floor_us: int | None,
        floor_reason: GapReason = GapReason.SERVICE_STOPPED,
        first_seq: int = 0,
    ) -> None:
        road = Road(
            camera,
            self._parts,
            floor_us=floor_us,
            floor_reason=floor_reason,
            first_seq=first_seq,
            on_change=lambda: self._tell(camera.id),
        )
        entry = self._entries[camera.id] = _Entry(road)
        if self._tasks is None:
            raise RuntimeError("cameras are added only while Cameras.run() is running")
        entry.task = self._tasks.create_task(self._supervise(road), name=f"camera:{camera.id}")
        self._tell(camera.id)

    async def _supervise(self, road: Road) -> None:
        """Run one road for ever, or keep a disabled camera's window open."""
        if not road.camera.enabled:
            await self._parts.window.open_camera(road.camera.id, road.camera.incarnation)
            return
        failures = 0
        while True:
            began_us = self._parts.clock.mono_us()
            try:
                await road.run()
                return
            except Exception:  # noqa: BLE001  the one place for a road's unforeseen failure
                _log.exception("the road of a camera failed", extra={"camera_id": road.camera.id})
            if self._parts.clock.mono_us() - began_us > 60_000_000:
                failures = 0
            await asyncio.sleep(RESTART_PAUSES_S[min(failures, len(RESTART_PAUSES_S) - 1)])
            failures += 1

    async def _halt(self, entry: _Entry) -> None:
        if entry.task is not None:
            entry.task.cancel()
            await asyncio.wait([entry.task])

    def _tell(self, camera_id: CameraId) -> None:
        if self._listeners and camera_id in self._entries:
            self._listeners.tell((camera_id, self.status(camera_id)))

    async def _mark_regularly(self) -> None:
        while True:
            await asyncio.sleep(MARK_EVERY_S)
            await self._mark()

    async def _mark(self) -> None:
        """Write down how far each camera's stream time has come, so that it goes on after a restart."""
        times = {
            camera_id: entry.road.report.last_t_us
            for camera_id, entry in self._entries.items()
            if entry.road.report.last_t_us is not None
        }
        try:
            await self._store.cameras.mark_all(times)
        except ServiceError as error:
            _log.warning("stream times were not written down", extra={"code": error.code})
