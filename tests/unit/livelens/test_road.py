import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from core.cameras import CameraState, Source
from core.frames import Features, Picture
from core.ids import split_frame_ref
from core.records import EpochStart, Gap, GapReason
from core.spans import Span
from featcache import Window
from livelens.road import Road
from tests.support.roads import camera_of, moving_clip, road_parts
from tests.support.windows import features_of

EVER = Span(0, 1 << 60)


class CountingEncoder:
    """Encodes everything to the same few tokens and counts."""

    version = "0123456789ab"
    frame_detail = "4"

    def __init__(self) -> None:
        self.calls = 0

    async def encode(self, picture: Picture) -> Features:
        self.calls += 1
        return features_of(4, 8)


async def until(holds: Callable[[], bool], *, within_s: float = 10) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.01)


async def frames_held(window: Window, road: Road) -> int:
    return len(await window.index(road.camera.id, EVER))


async def test_a_clip_that_is_not_looped_runs_to_its_end_and_leaves_samples_and_records(
    tmp_path: Path,
) -> None:
    with road_parts() as parts:
        road = Road(camera_of(Source(moving_clip(tmp_path).as_uri())), parts, floor_us=None)
        async with asyncio.timeout(20):
            await road.run()
        held = await parts.window.index(road.camera.id, EVER)
        records = await parts.window.records(road.camera.id, EVER)
    assert len(held) >= 5
    assert [info.seq for info in held] == list(range(len(held)))
    assert road.next_seq == len(held)
    assert sum(count for _, count in road.kept) == len(held)
    assert any(isinstance(record, EpochStart) for record in records)
    assert [r.reason for r in records if isinstance(r, Gap)] == [GapReason.ENDED]
    assert road.report.state is CameraState.OFFLINE


async def test_each_sample_is_encoded_exactly_once(tmp_path: Path) -> None:
    encoder = CountingEncoder()
    with road_parts() as parts:
        road = Road(
            camera_of(Source(moving_clip(tmp_path).as_uri())), replace(parts, encoder=encoder), floor_us=None
        )
        async with asyncio.timeout(20):
            await road.run()
        held = await parts.window.index(road.camera.id, EVER)
    assert encoder.calls == len(held)
    assert {split_frame_ref(info.ref).encoder for info in held} == {encoder.version}


async def test_a_cancelled_road_leaves_no_task_and_can_run_again_with_time_going_on(tmp_path: Path) -> None:
    with road_parts() as parts:
        road = Road(camera_of(Source(moving_clip(tmp_path).as_uri(), loop=True)), parts, floor_us=None)
        before = asyncio.all_tasks()
        for _ in range(2):
            held = await frames_held(parts.window, road) if road.next_seq else 0
            task = asyncio.create_task(road.run())
            await until(lambda held=held: road.next_seq > held + 2)  # type: ignore[misc]  # bound on purpose
            task.cancel()
            await asyncio.wait([task], timeout=5)
            assert task.cancelled()
        assert asyncio.all_tasks() == before
        times = [info.t_us for info in await parts.window.index(road.camera.id, EVER)]
    assert times == sorted(set(times))


async def test_a_road_tells_rate_delay_and_the_newest_picture_while_it_runs(tmp_path: Path) -> None:
    told: list[CameraState] = []
    with road_parts() as parts:
        camera = camera_of(Source(moving_clip(tmp_path).as_uri(), loop=True))
        road = Road(camera, parts, floor_us=None, on_change=lambda: told.append(road.report.state))
        assert (road.report.state, road.newest_frame) == (CameraState.CONNECTING, None)
        task = asyncio.create_task(road.run())
        await until(lambda: road.frame_rate > 5 and road.delay_s is not None)
        assert road.newest_frame is not None
        assert road.newest_frame.picture.width_px == 320
        task.cancel()
        await asyncio.wait([task], timeout=5)
    assert CameraState.ONLINE in told
