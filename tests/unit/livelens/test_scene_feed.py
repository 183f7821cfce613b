"""Generated cameras: addresses, real time, true times, and nothing left behind, through the real road."""

import asyncio
import io
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core.cameras import CameraState, Source
from core.clock import ManualClock
from core.ids import CameraId
from core.records import EpochClock
from core.spans import Span
from featcache import UnknownCamera
from ingest import SourceRefused
from livelens.addresses import SCENE
from livelens.cameras import Cameras
from livelens.road import RoadParts
from livelens.scene_feed import SCENE_FPS, SceneFeed, SceneFeeds, scene_seed
from models.builtin.scenes import LiveVideo, draw, kind_of
from models.builtin.seeds import BENCH, SeedRefused, for_training
from store import Store
from tests.support.pumping import Run, open_files, pumping, reader_threads
from tests.support.roads import UTC, road_parts
from tests.support.shown_scenes import ShownScene
from tests.unit.livelens.test_cameras import running
from web.ports import CameraPatch, NewCamera

SEVEN = Source("scene:7")
TOY = CameraId("toy")
MOVING = Source("scene:884")
EVER = Span(0, 1 << 60)
FRAME_US = 1_000_000 // SCENE_FPS
POOL_THREADS = 2
"""The database opens a connection, with its thread, when it first needs one."""


class Stage:
    """A clock that moves on only when somebody waits."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.stopped = False

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.clock.advance(max(0, round(seconds * 1e6)))
        return self.stopped


@pytest.mark.parametrize(
    "url", ["scene:", "scene:x", "scene:-1", "scene:01", "scene:1000000000", "scene:1?a", "scene://1"]
)
def test_a_scene_is_named_by_a_whole_number(url: str) -> None:
    with pytest.raises(SourceRefused, match="0 to 999999999"):
        SceneFeeds(ManualClock()).check(Source(url))


@pytest.mark.parametrize("number", [0, 7, 999_999_999])
def test_no_scene_that_a_camera_shows_was_ever_trained_on(number: int) -> None:
    seed = scene_seed(Source(f"scene:{number}"))
    assert seed == BENCH + number
    with pytest.raises(SeedRefused):
        for_training(seed)


def test_frames_are_given_out_when_they_are_due_and_carry_their_number() -> None:
    stage = Stage()
    feed = SceneFeed(LiveVideo(BENCH + 7, fps=SCENE_FPS), clock=stage.clock, wait=stage.wait)
    began_us = stage.clock.now_us()
    assert feed.began_us == began_us
    pieces = [feed.read(1 << 20) for _ in range(4)]
    assert pieces[0].startswith(b"DKIF")
    assert [int.from_bytes(piece[4:12], "little") for piece in pieces[1:]] == [1, 2, 3]
    assert stage.clock.now_us() == began_us + 3 * FRAME_US
    head = feed.read(4) + feed.read(8)
    assert int.from_bytes(head[4:], "little") == 4
    assert len(feed.read(1 << 20)) == int.from_bytes(head[:4], "little")


def test_frames_that_are_long_past_are_left_out() -> None:
    stage = Stage()
    feed = SceneFeed(LiveVideo(BENCH + 7, fps=SCENE_FPS), clock=stage.clock, wait=stage.wait)
    feed.read(1 << 20)
    stage.clock.advance(FRAME_US * 7 // 2)
    numbers = [int.from_bytes(feed.read(1 << 20)[4:12], "little") for _ in range(2)]
    assert numbers == [3, 4]


def test_a_feed_gives_nothing_more_once_told_to_stop() -> None:
    stage = Stage()
    feed = SceneFeed(LiveVideo(BENCH + 7, fps=SCENE_FPS), clock=stage.clock, wait=stage.wait)
    feed.read(1 << 20)
    stage.stopped = True
    assert feed.read(1 << 20) == b""


async def test_a_generated_camera_is_h264_at_its_own_pace_and_its_times_tell_what_it_shows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kind = kind_of(BENCH + 7)
    run = Run()
    with caplog.at_level(logging.INFO):
        async with pumping(SEVEN, feeds={SCENE: SceneFeeds(run.clock)}, name="toy", run=run) as run:
            await run.until(lambda: len(run.frames) >= 30)
    assert (run.last.codec, run.last.clock, run.frames[0].size) == (
        "h264",
        EpochClock.MEDIA,
        (kind.width_px, kind.height_px),
    )
    (began,) = [record for record in caplog.records if record.message == "a generated scene began"]
    shown = ShownScene(began.__dict__["seed"], began.__dict__["began_us"])
    assert (began.__dict__["camera_id"], shown.seed) == ("toy", BENCH + 7)
    numbers = [shown.scene_us(t_us) // FRAME_US for t_us in run.times_us]
    assert numbers[0] == 0
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 0.7 * numbers[-1]  # a busy machine may leave some out
    away_us = [t_us - shown.began_us - shown.scene_us(t_us) for t_us in run.times_us[10:]]
    assert max(map(abs, away_us)) < FRAME_US // 2


def scene_threads() -> list[str]:
    return [name for name in reader_threads() if name == f"ingest:{TOY}"]


@contextmanager
def parts_with_scenes() -> Iterator[RoadParts]:
    with road_parts() as parts:
        yield replace(parts, feeds={SCENE: SceneFeeds(parts.clock)})


async def until_kept(cameras: Cameras, count: int) -> None:
    async with asyncio.timeout(15):
        while cameras.road(TOY).next_seq < count:
            await asyncio.sleep(0.01)


async def test_a_kept_frame_shows_what_is_true_of_its_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), parts_with_scenes() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            await cameras.add(NewCamera(TOY, "Toy", MOVING, UTC))
            await until_kept(cameras, 8)
            kept = [info.t_us for info in await parts.window.index(TOY, EVER)]
            frames = [await parts.window.at(TOY, t_us) for t_us in kept]
    (began,) = [record for record in caplog.records if record.message == "a generated scene began"]
    shown = ShownScene(began.__dict__["seed"], began.__dict__["began_us"])
    truth, times = shown.truth(kept[-1]), [shown.scene_us(t_us) for t_us in kept]
    for frame, drawn in zip(frames, draw(shown.seed, truth, times), strict=True):
        assert frame is not None
        pixels = np.asarray(Image.open(io.BytesIO(frame.jpeg)).convert("RGB")).astype(int)
        assert np.abs(pixels - drawn.pixels).mean() < 6
        assert np.quantile(np.abs(pixels - drawn.pixels).max(axis=2), 0.995) < 60


async def test_a_generated_camera_is_stopped_started_and_removed_within_a_second_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    with parts_with_scenes() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            threads, files, tasks = threading.active_count(), open_files(), asyncio.all_tasks()
            await cameras.add(NewCamera(TOY, "Toy", SEVEN, UTC))
            for _ in range(3):
                before = cameras.road(TOY).next_seq
                await until_kept(cameras, before + 1)
                assert len(scene_threads()) == 1
                async with asyncio.timeout(1):
                    await cameras.update(TOY, CameraPatch(enabled=False))
                assert scene_threads() == []
                await cameras.update(TOY, CameraPatch(enabled=True))
            await until_kept(cameras, cameras.road(TOY).next_seq + 1)
            assert cameras.status(TOY).report.state is CameraState.ONLINE
            async with asyncio.timeout(1):
                await cameras.remove(TOY)
            with pytest.raises(UnknownCamera):
                cameras.get(TOY)
            assert scene_threads() == []
            assert asyncio.all_tasks() == tasks
            assert (threading.active_count(), open_files()) <= (threads + POOL_THREADS, files + POOL_THREADS)


async def test_a_restart_begins_the_scene_anew_behind_all_that_was_stored(tmp_path: Path) -> None:
    last_us = 0
    for _ in range(2):
        with parts_with_scenes() as parts:
            async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
                if not cameras.list():
                    await cameras.add(NewCamera(TOY, "Toy", SEVEN, UTC))
                await until_kept(cameras, 2)
                assert (await parts.window.index(TOY, EVER))[0].t_us > last_us
                last_us = cameras.status(TOY).report.last_t_us or 0


async def test_a_scene_can_be_looked_at_before_it_is_registered_and_a_wrong_one_is_refused(
    tmp_path: Path,
) -> None:
    with parts_with_scenes() as parts:
        async with await Store.open(tmp_path / "a.db") as store, running(parts, store) as cameras:
            report = await cameras.probe(SEVEN)
            assert (report.ok, report.codec, report.frame_rate) == (True, "h264", float(SCENE_FPS))
            for url in ("scene:x", "scene:1000000000"):
                with pytest.raises(SourceRefused):
                    await cameras.probe(Source(url))
                with pytest.raises(SourceRefused):
                    await cameras.add(NewCamera(TOY, "Toy", Source(url), UTC))
            assert cameras.list() == ()
    assert reader_threads() == []
