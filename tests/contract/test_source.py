"""What every source does, whatever it is read from: a file, or a real RTSP camera by TCP and by UDP."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from core.cameras import CameraState, Source, Transport
from core.records import EpochClock, GapReason
from ingest import parse_source, probe
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.pumping import QUICK, pumping, reader_threads
from tests.support.rtsp_server import Mount, RtspServer

FRAMES = 30
STEP_US = 40_000


@dataclass
class Place:
    """A source that plays 30 numbered frames a round, 25 a second, for ever; and a way to take it away."""

    source: Source
    take_away: Callable[[], None]


@asynccontextmanager
async def from_file(clip: Path) -> AsyncIterator[Place]:
    yield Place(parse_source(f"file:{clip}", loop=True), clip.unlink)


def from_rtsp(transport: Transport) -> Callable[[Path], AbstractAsyncContextManager[Place]]:
    @asynccontextmanager
    async def serve(clip: Path) -> AsyncIterator[Place]:
        async with RtspServer({"cam": Mount([clip])}) as server:
            yield Place(parse_source(server.url("cam"), transport=transport), server.kill)

    return serve


PLACES = [
    pytest.param(from_file, id="file"),
    pytest.param(from_rtsp(Transport.TCP), id="rtsp-tcp", marks=pytest.mark.rtsp),
    pytest.param(from_rtsp(Transport.UDP), id="rtsp-udp", marks=pytest.mark.rtsp),
]


@pytest.fixture(params=PLACES)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    clip = write_clip(tmp_path / "clip.mp4", [Shot(constant_rate(FRAMES, rate=25))])
    async with request.param(clip) as opened:
        yield opened


async def test_every_frame_comes_once_in_order_with_its_own_time(place: Place) -> None:
    async with pumping(place.source) as run:
        await run.until(lambda: len(run.frames) >= 2 * FRAMES)
    numbers = [number for number in run.numbers if number is not None]
    assert len(numbers) == len(run.frames)
    assert all(after == (before + 1) % FRAMES for before, after in pairwise(numbers))
    # The sender's clock, when it is heard, moves time forward at once, and back by a twentieth at most.
    assert all(step >= STEP_US * 95 // 100 - 1 for step in run.steps_us)
    assert sorted(run.steps_us)[-2] <= STEP_US + 1
    assert run.epochs[0].clock is EpochClock.MEDIA
    assert [epoch.restarted_clock for epoch in run.epochs] == [False]


async def test_stream_time_is_the_time_now(place: Place) -> None:
    async with pumping(place.source) as run:
        await run.until(lambda: len(run.frames) >= 2 * FRAMES)
    ages_us = [frame.now_us - frame.t_us for frame in run.frames[FRAMES:]]
    assert min(ages_us) > -50_000
    assert sorted(ages_us)[len(ages_us) // 2] < 250_000


async def test_states_lead_to_online_and_counters_follow(place: Place) -> None:
    async with pumping(place.source) as run:
        await run.until(lambda: run.reports[-1].frames_total >= FRAMES)
    assert run.states == [CameraState.CONNECTING, CameraState.WAITING_FOR_KEYFRAME, CameraState.ONLINE]
    report = run.last
    assert (report.codec, report.width_px, report.height_px) == ("h264", 320, 240)
    assert (report.epoch, report.reconnects, report.code) == (1, 0, None)
    assert report.last_t_us in run.times_us


async def test_frames_come_after_what_was_stored_and_the_time_between_is_a_gap(place: Place) -> None:
    async with pumping(place.source) as first:
        await first.until(lambda: len(first.frames) >= 5)
    floor_us = first.times_us[-1]
    async with pumping(place.source, floor_us=floor_us) as second:
        await second.until(lambda: len(second.frames) >= 5)
    assert second.times_us[0] > floor_us
    # A server that is still busy with the first client may send the second one away once.
    gaps = second.gaps
    assert (gaps[0].start_us, gaps[0].reason) == (floor_us + 1, GapReason.SERVICE_STOPPED)
    assert gaps[-1].end_us == second.times_us[0]
    assert all(before.end_us == after.start_us for before, after in pairwise(gaps))


async def test_a_source_that_is_taken_away_is_a_gap_and_tried_again(place: Place) -> None:
    async with pumping(place.source) as run:
        await run.until(lambda: len(run.frames) >= 5)
        place.take_away()
        await run.until(lambda: run.last.state is CameraState.OFFLINE)
        await run.until(lambda: run.last.reconnects >= 2)
    [gap] = run.gaps
    assert (gap.end_us, gap.reason) == (None, GapReason.UNREACHABLE)
    assert run.times_us[-1] < gap.start_us <= run.times_us[-1] + 2 * STEP_US
    assert run.last.code in ("source_lost", "source_unreachable", "source_not_found")


async def test_ending_it_at_any_moment_leaves_nothing(place: Place) -> None:
    for after in range(6):
        async with pumping(place.source) as run:
            await run.until(lambda: len(run.frames) >= after, within_s=20.0)  # noqa: B023 - used at once
        assert not reader_threads()
        assert run.task is not None
        assert run.task.cancelled()


async def test_a_probe_finds_what_it_is_and_how_it_looks(place: Place) -> None:
    report = await asyncio.wait_for(probe(place.source, settings=QUICK), 8.0)
    assert (report.ok, report.codec, report.width_px, report.height_px) == (True, "h264", 320, 240)
    assert report.frame_rate == pytest.approx(25.0, abs=1.0)
    assert report.jpeg is not None
    assert report.jpeg.startswith(b"\xff\xd8")
