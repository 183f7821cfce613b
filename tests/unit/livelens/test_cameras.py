import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.cameras import CameraState, Source
from core.ids import CameraId, IdSource
from core.records import Gap, GapReason
from core.spans import Span
from featcache import UnknownCamera
from ingest import SourceRefused
from livelens import cameras as module
from livelens.cameras import Cameras
from livelens.road import Road, RoadParts
from store import CameraExists, Store
from tests.support.roads import UTC, moving_clip, road_parts
from web.ports import CameraPatch, NewCamera

GATE = CameraId("gate")
EVER = Span(0, 1 << 60)


@asynccontextmanager
async def running(parts: RoadParts, store: Store) -> AsyncIterator[Cameras]:
    cameras = Cameras(store, parts, ids=IdSource(), answered_by=lambda _road: "measured")
    started = asyncio.Event()
    task = asyncio.create_task(cameras.run(started))
    await started.wait()
    try:
        yield cameras
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=10)


def gate(clip: Path, *, enabled: bool = True) -> NewCamera:
    return NewCamera(GATE, "Gate", Source(clip.as_uri(), loop=True), UTC, enabled)


async def until_samples(cameras: Cameras, count: int) -> None:
    async with asyncio.timeout(15):
        while cameras.road(GATE).next_seq < count:
            await asyncio.sleep(0.01)


async def test_a_registered_camera_runs_and_is_told_of(tmp_path: Path) -> None:
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            async with cameras.changes() as changes:
                await cameras.add(gate(moving_clip(tmp_path)))
                async with asyncio.timeout(10):
                    async for camera_id, status in changes:
                        assert camera_id == GATE
                        if status is not None and status.report.state is CameraState.ONLINE:
                            break
            assert [camera.id for camera in cameras.list()] == [GATE]
            assert cameras.status(GATE).answered_by == "measured"
            with pytest.raises(CameraExists):
                await cameras.add(gate(moving_clip(tmp_path)))


async def test_a_removed_camera_leaves_nothing_and_its_name_is_free_again(tmp_path: Path) -> None:
    clip = moving_clip(tmp_path)
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            before = asyncio.all_tasks()
            first = await cameras.add(gate(clip))
            await until_samples(cameras, 3)
            assert await cameras.remove(GATE) >= 3
            assert asyncio.all_tasks() == before
            with pytest.raises(UnknownCamera):
                await parts.window.head(GATE)
            with pytest.raises(UnknownCamera):
                cameras.get(GATE)
            with pytest.raises(UnknownCamera):
                await cameras.remove(GATE)
            second = await cameras.add(gate(clip))
            assert second.incarnation != first.incarnation


async def test_a_restart_brings_cameras_back_and_stream_time_goes_on(tmp_path: Path) -> None:
    clip = moving_clip(tmp_path)
    async with await Store.open(tmp_path / "a.db") as store:
        with road_parts() as parts:
            async with running(parts, store) as cameras:
                await cameras.add(gate(clip))
                await until_samples(cameras, 3)
                last_us = cameras.status(GATE).report.last_t_us
        assert last_us is not None
        with road_parts() as parts:
            async with running(parts, store) as cameras:
                await until_samples(cameras, 1)
                first_us = (await parts.window.index(GATE, EVER))[0].t_us
                assert cameras.get(GATE).name == "Gate"
    assert first_us > last_us


async def test_a_camera_can_be_switched_off_and_on_without_losing_its_window(tmp_path: Path) -> None:
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            await cameras.add(gate(moving_clip(tmp_path)))
            await until_samples(cameras, 3)
            await cameras.update(GATE, CameraPatch(enabled=False))
            held = len(await parts.window.index(GATE, EVER))
            assert cameras.status(GATE).report.state is CameraState.DISABLED
            await cameras.update(GATE, CameraPatch(enabled=True, name="Front gate"))
            await until_samples(cameras, held + 1)
            seqs = [info.seq for info in await parts.window.index(GATE, EVER)]
            assert seqs == list(range(len(seqs)))
            assert cameras.get(GATE).name == "Front gate"


async def test_an_address_that_is_not_allowed_changes_nothing(tmp_path: Path) -> None:
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            await cameras.add(gate(moving_clip(tmp_path)))
            for source in (Source("gopher://10.0.0.5/"), Source("http://10.0.0.5/")):
                with pytest.raises(SourceRefused):
                    await cameras.update(GATE, CameraPatch(source=source))
                with pytest.raises(SourceRefused):
                    await cameras.add(NewCamera(CameraId("other"), "Other", source, UTC))
                with pytest.raises(SourceRefused):
                    await cameras.probe(source)
            assert [camera.source.kind for camera in cameras.list()] == ["file"]


@pytest.mark.logs_errors
async def test_a_road_that_fails_is_run_again_and_the_others_never_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESTART_PAUSES_S", (0.01,))
    real, runs = Road.run, []

    async def failing(road: Road) -> None:
        runs.append(road.camera.id)
        if len(runs) == 1:
            raise RuntimeError("nobody foresaw this")
        await real(road)

    monkeypatch.setattr(Road, "run", failing)
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            await cameras.add(gate(moving_clip(tmp_path)))
            await until_samples(cameras, 1)
    assert runs == [GATE, GATE]


async def test_time_switched_off_is_a_gap_with_that_reason(tmp_path: Path) -> None:
    with road_parts() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            assert not cameras.any_online
            await cameras.add(gate(moving_clip(tmp_path)))
            await until_samples(cameras, 3)
            assert cameras.any_online
            await cameras.update(GATE, CameraPatch(enabled=False))
            held = cameras.road(GATE).next_seq
            await cameras.update(GATE, CameraPatch(enabled=True))
            await until_samples(cameras, held + 1)
            records = await parts.window.records(GATE, EVER)
    assert [r.reason for r in records if isinstance(r, Gap)] == [GapReason.DISABLED]
