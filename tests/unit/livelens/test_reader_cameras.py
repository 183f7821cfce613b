"""Cameras that others take in, as this process shows them: found, followed, and never changed from here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.cameras import CameraState, Source, StateReport
from core.clock import ServiceClock
from core.ids import CameraId, Incarnation
from core.meter import Metric, TallyMeter
from featcache import UnknownCamera, WindowUnavailable
from featcache.directory import Listed, Roll
from featcache.redis_link import Fault
from livelens import reader_cameras as module
from livelens.errors import CamerasElsewhere
from livelens.reader_cameras import PublishedCameras
from tests.support.bulletins import UTC, bulletin_of
from tests.support.published import until
from tests.support.windows import GATE, YARD
from web.ports import CameraPatch, NewCamera


class ScriptedDirectory:
    """Lists what a test says; away where it says so."""

    def __init__(self) -> None:
        self.bulletins = [bulletin_of()]
        self.ended: frozenset[CameraId] = frozenset()
        self.away = False
        self.offset_us = 0
        self.ahead_us = 0
        self.fault: Fault | None = None

    async def look(self, known: Mapping[CameraId, Incarnation]) -> Roll:
        if self.away:
            self.fault = Fault.AWAY
            raise WindowUnavailable(CameraId(""))
        self.fault = None
        now_us = ServiceClock().now_us()
        told = [replace(b, at_us=now_us + self.ahead_us) for b in self.bulletins]
        now_us += self.offset_us
        return Roll(now_us, {b.camera.id: Listed(b, now_us) for b in told}, self.ended)


@asynccontextmanager
async def looking(directory: ScriptedDirectory, meter: TallyMeter) -> AsyncIterator[PublishedCameras]:
    """Run over a directory that is looked at all the time."""
    cameras = PublishedCameras(
        directory,
        clock=ServiceClock(),
        meter=meter,
        answered_by=lambda encoded: "qwen" if encoded else "measured",
    )
    started = asyncio.Event()
    task = asyncio.create_task(cameras.run(started))
    async with asyncio.timeout(10):
        await started.wait()
    try:
        yield cameras
        assert not task.done()
    finally:
        task.cancel()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(module, "AGAIN_AFTER_S", 0.01)


@pytest.fixture
def directory() -> ScriptedDirectory:
    return ScriptedDirectory()


@pytest.fixture
def meter() -> TallyMeter:
    return TallyMeter()


async def test_cameras_are_those_that_owners_tell_of(directory: ScriptedDirectory, meter: TallyMeter) -> None:
    directory.bulletins = [bulletin_of(camera_id=YARD, encoded=False), bulletin_of()]
    async with looking(directory, meter) as cameras:
        assert [camera.id for camera in cameras.list()] == [GATE, YARD]
        assert cameras.get(GATE).name == "Gate"
        assert [cameras.status(c).answered_by for c in (GATE, YARD)] == ["qwen", "measured"]
        assert cameras.silent_since_us(GATE) is None
        assert cameras.knows(GATE)
        with pytest.raises(UnknownCamera):
            cameras.get(CameraId("nobody"))
        cameras.measure()
        assert meter.gauges[Metric.CAMERAS, (("state", "online"),)] == 2


CHANGES: tuple[Callable[[PublishedCameras], Awaitable[object]], ...] = (
    lambda cameras: cameras.add(NewCamera(YARD, "Yard", Source("rtsp://10.0.0.6/"), UTC)),
    lambda cameras: cameras.update(GATE, CameraPatch(name="Door")),
    lambda cameras: cameras.remove(GATE),
    lambda cameras: cameras.probe(Source("rtsp://10.0.0.6/")),
)


@pytest.mark.parametrize("change", CHANGES)
async def test_nothing_is_changed_from_here(
    directory: ScriptedDirectory,
    meter: TallyMeter,
    change: Callable[[PublishedCameras], Awaitable[object]],
) -> None:
    async with looking(directory, meter) as cameras:
        with pytest.raises(CamerasElsewhere):
            await change(cameras)


async def test_listeners_are_told_of_what_changes_and_of_what_has_gone(
    directory: ScriptedDirectory, meter: TallyMeter
) -> None:
    async with looking(directory, meter) as cameras, cameras.changes() as changes, asyncio.timeout(10):
        told = aiter(changes)
        stalled = StateReport(CameraState.STALLED, 5, "source_stalled")
        directory.bulletins = [bulletin_of(report=stalled)]
        camera_id, status = await anext(told)
        assert status is not None
        assert (camera_id, status.report) == (GATE, stalled)
        directory.bulletins, directory.ended = [], frozenset({GATE})
        assert await anext(told) == (GATE, None)
        assert cameras.list() == ()


async def test_redis_away_from_the_start_is_said_and_what_comes_is_found(
    directory: ScriptedDirectory, meter: TallyMeter
) -> None:
    directory.away = True
    async with looking(directory, meter) as cameras:
        assert (cameras.reached, cameras.sight.in_words()) == (
            False,
            "Redis cannot be reached; questions are refused",
        )
        with pytest.raises(WindowUnavailable, match=r"did not answer$"):
            cameras.list()
        with pytest.raises(WindowUnavailable):
            cameras.get(GATE)
        directory.away = False
        await until(lambda: cameras.reached)
        assert [camera.id for camera in cameras.list()] == [GATE]
        assert meter.gauges[Metric.REDIS_UP, ()] == 1


async def test_while_redis_is_away_the_cameras_last_known_stay_and_one_outage_is_counted(
    directory: ScriptedDirectory, meter: TallyMeter
) -> None:
    async with looking(directory, meter) as cameras:
        directory.away = True
        await until(lambda: not cameras.reached)
        assert [camera.id for camera in cameras.list()] == [GATE]
        assert cameras.get(GATE).id == GATE
        with pytest.raises(WindowUnavailable):
            cameras.get(YARD)
        directory.away = False
        await until(lambda: cameras.reached)
        assert meter.counts[Metric.REDIS_OUTAGES, (("fault", "away"),)] == 1


async def test_how_far_redis_clock_is_from_ours_is_told(
    directory: ScriptedDirectory, meter: TallyMeter
) -> None:
    directory.offset_us = 2_000_000
    async with looking(directory, meter) as cameras:
        assert cameras.sight.clock_offset_us is not None
        assert 1_500_000 < cameras.sight.clock_offset_us < 2_500_000
        assert cameras.sight.in_words().startswith("ok, its clock is +")
        assert replace(cameras.sight, clock_offset_us=None).in_words() == "ok"


async def test_an_owner_whose_clock_is_far_from_ours_is_named(
    directory: ScriptedDirectory, meter: TallyMeter
) -> None:
    directory.offset_us, directory.ahead_us = -500_000, 60_000_000
    async with looking(directory, meter) as cameras:
        said = cameras.clocks_in_words()
        assert said is not None
        assert said.startswith(
            ("where gate comes in the clock is +60.", "where gate comes in the clock is +59.")
        )
        directory.ahead_us = 0
        await until(lambda: cameras.clocks_in_words() is None)


def test_before_the_first_look_nothing_is_known(directory: ScriptedDirectory, meter: TallyMeter) -> None:
    cameras = PublishedCameras(
        directory, clock=ServiceClock(), meter=meter, answered_by=lambda _encoded: "measured"
    )
    assert cameras.sight.in_words() == "not reached yet"
    assert cameras.clocks_in_words() is None
    assert meter.gauges[Metric.REDIS_UP, ()] == 0
