"""One camera from start to stop: files to their end, and cameras that refuse, stall, die and come back."""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from core.cameras import CameraState, Credentials, Source, Transport
from core.channel import ChannelClosed
from core.meter import Metric
from core.records import EpochClock, EpochStart, Gap, GapReason
from ingest import SourceRefused, parse_source
from tests.support.clips import Shot, constant_rate, join_files, variable_rate, with_gap, write_clip
from tests.support.faults import FaultProxy, wait_until
from tests.support.pumping import QUICK, Run, camera, open_files, pumping, reader_threads
from tests.support.rtsp_server import Mount, RtspServer

MEDIA = Path(__file__).parents[2] / "media"

BUSY_S = 3.0
"""What a busy machine may add to a promised time."""


def file(path: Path, *, loop: bool = False) -> Source:
    return parse_source(f"file:{path}", loop=loop)


async def to_the_end(path: Path) -> Run:
    async with pumping(file(path)) as run:
        await run.ended()
    return run


# ---------------------------------------------------------------- files


async def test_a_file_is_read_in_real_time_to_its_end_and_not_again(tmp_path: Path) -> None:
    begin = time.monotonic()
    run = await to_the_end(write_clip(tmp_path / "a.mp4", [Shot(constant_rate(12))]))
    assert 1.0 < time.monotonic() - begin < 1.1 + BUSY_S
    assert run.numbers == list(range(12))
    assert set(run.steps_us) == {100_000}
    assert (run.last.state, run.last.code, run.last.reconnects) == (CameraState.OFFLINE, None, 0)
    assert run.gaps == [Gap(run.times_us[-1] + 100_000, None, GapReason.ENDED)]
    with pytest.raises(ChannelClosed):
        run.channel.send_nowait(None)  # type: ignore[arg-type]
    assert run.meter.total(Metric.FRAMES_IN) == 12


async def test_a_looped_file_goes_on_in_time_over_the_seam(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(6), b_frames=2)])
    async with pumping(file(clip, loop=True)) as run:
        await run.until(lambda: len(run.frames) >= 20)
    assert run.numbers[:20] == [*range(6)] * 3 + [0, 1]
    assert all(94_999 <= step <= 100_001 for step in run.steps_us)
    assert len(run.epochs) == 1
    assert run.gaps == []


async def test_uneven_times_and_holes_keep_their_spacing(tmp_path: Path) -> None:
    times = with_gap(variable_rate(10, start_us=7_000_000), after=5, gap_us=800_000)
    run = await to_the_end(write_clip(tmp_path / "a.mp4", [Shot(times)]))
    assert run.numbers == list(range(10))
    wanted = [after - before for before, after in pairwise(times)]
    assert all(abs(step - want) <= 50 for step, want in zip(run.steps_us, wanted, strict=True))


async def test_a_wrapped_stream_clock_leaves_no_gap(tmp_path: Path) -> None:
    # The clock wraps about one second into the clip; times from both sides of it are negative and positive.
    run = await to_the_end(write_clip(tmp_path / "a.ts", [Shot(constant_rate(20, start_us=95_442_700_000))]))
    assert run.numbers == list(range(20))
    assert all(abs(step - 100_000) <= 1 for step in run.steps_us)
    assert run.epochs == [EpochStart(run.times_us[0], 1, EpochClock.MEDIA)]


async def test_a_clock_that_starts_over_is_one_entry_and_no_reconnect(tmp_path: Path) -> None:
    parts = [
        write_clip(tmp_path / "a.ts", [Shot(constant_rate(10))]),
        write_clip(tmp_path / "b.ts", [Shot(constant_rate(10), first=10)]),
    ]
    run = await to_the_end(join_files(tmp_path / "ab.ts", parts))
    assert run.numbers == list(range(20))
    assert all(step > 0 for step in run.steps_us)
    assert [(epoch.epoch, epoch.restarted_clock) for epoch in run.epochs] == [(1, False), (1, True)]
    assert run.epochs[1].start_us == run.times_us[10]
    assert run.last.reconnects == 0


async def test_a_raw_file_runs_on_arrival_time_and_says_so(tmp_path: Path) -> None:
    run = await to_the_end(write_clip(tmp_path / "a.h264", [Shot(constant_rate(50))]))
    assert run.numbers == list(range(50))
    assert run.last.clock is EpochClock.ARRIVAL
    assert (
        abs(run.times_us[-1] - run.times_us[0] - 1_960_000) < 200_000
    )  # 25 a second, as such files are played


async def test_two_frames_of_the_same_time_both_survive(tmp_path: Path) -> None:
    times = [0, 100_000, 100_000, *range(300_000, 900_000, 100_000)]
    run = await to_the_end(write_clip(tmp_path / "a.mkv", [Shot(constant_rate(9))], packet_times_us=times))
    assert run.numbers == list(range(9))
    assert run.steps_us[:3] == [100_000, 1, 199_999]


async def test_the_larger_of_two_video_tracks_is_read() -> None:
    async with pumping(file(MEDIA / "nasa_13013.mp4")) as run:
        await run.until(lambda: len(run.frames) >= 3)
    assert {frame.size for frame in run.frames} == {(480, 270)}


async def test_video_behind_sound_is_found(tmp_path: Path) -> None:
    run = await to_the_end(write_clip(tmp_path / "a.ts", [Shot(constant_rate(6))], audio="first"))
    assert run.numbers == list(range(6))


async def test_sound_alone_is_a_named_error(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.ts", [Shot(constant_rate(6))], audio="only")
    async with pumping(file(clip)) as run:
        await run.until(lambda: run.last.code == "no_video_track", within_s=3.0)
    assert run.last.state is CameraState.OFFLINE
    assert [gap.reason for gap in run.gaps] == [GapReason.NO_VIDEO]


async def test_a_playlist_in_a_file_leads_nowhere(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(6))])
    for name, text in {
        "a.ffconcat": f"ffconcat version 1.0\nfile '{clip}'\n",
        "a.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:{clip}\n#EXT-X-ENDLIST\n",
    }.items():
        (tmp_path / name).write_text(text)
        async with pumping(file(tmp_path / name)) as run:
            await run.until(lambda: run.last.state is CameraState.OFFLINE)
        assert run.frames == []
        assert run.last.code == "source_failed"


async def test_a_file_that_is_missing_or_a_folder_is_not_found(tmp_path: Path) -> None:
    for path in (tmp_path / "none.mp4", tmp_path):
        async with pumping(file(path)) as run:
            await run.until(lambda: run.last.code == "source_not_found")


async def test_a_source_that_is_not_allowed_is_refused_and_the_channel_closed() -> None:
    with pytest.raises(SourceRefused):
        async with pumping(Source("http://cam/x")) as run:
            await run.ended()
    with pytest.raises(ChannelClosed):
        run.channel.send_nowait(None)  # type: ignore[arg-type]


async def test_a_loop_that_is_held_up_costs_frames_counted_and_no_memory(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(100, rate=50))])
    async with pumping(file(clip)) as run:
        await run.until(lambda: len(run.frames) >= 10)
        time.sleep(0.6)  # the loop itself is stuck
        await run.ended()
    dropped = run.skipped["slow_loop"]
    assert dropped >= 10
    assert len(run.frames) + dropped == 100
    assert run.meter.counts[Metric.FRAMES_DROPPED, (("stage", "ingest"),)] == dropped
    assert run.steps_us == sorted(run.steps_us, key=lambda step: step) or max(run.steps_us) > 300_000


# ---------------------------------------------------------------- cameras


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "cam.mp4", [Shot(constant_rate(50, rate=25))])


def rtsp(url: str, **more: object) -> Source:
    return parse_source(url, **more)  # type: ignore[arg-type]


@pytest.mark.rtsp
@pytest.mark.parametrize("digest", [False, True])
async def test_a_wrong_password_is_a_state_of_its_own_and_rarely_tried(clip: Path, digest: bool) -> None:
    async with RtspServer({"cam": Mount([clip])}, login=("admin", "right"), digest=digest) as server:
        async with FaultProxy(server.port) as proxy:
            source = rtsp(server.url("cam", port=proxy.port), username="admin", password="s3cret-wrong")
            async with pumping(source) as run:
                await run.until(lambda: run.last.state is CameraState.AUTH_FAILED, within_s=5.0)
                connections = proxy.connections
                await asyncio.sleep(QUICK.slow_pause_s / 2)
                assert proxy.connections == connections
        assert run.last.code == "auth_failed"
        assert [gap.reason for gap in run.gaps] == [GapReason.AUTH_FAILED]
        assert "s3cret" not in repr((run.reports, run.records))


@pytest.mark.rtsp
@pytest.mark.parametrize("digest", [False, True])
async def test_an_awkward_password_reaches_the_camera_as_it_is(clip: Path, digest: bool) -> None:
    word = "p@ss#w%rd/:?"
    async with RtspServer({"cam": Mount([clip])}, login=("u", word), digest=digest) as server:
        apart = rtsp(server.url("cam"), username="u", password=word)
        encoded = rtsp(server.url("cam").replace("//", "//u:p%40ss%23w%25rd%2F%3A%3F@"))
        assert apart == encoded
        async with pumping(apart) as run:
            await run.until(lambda: len(run.frames) >= 3)


@pytest.mark.rtsp
async def test_a_wrong_path_and_a_closed_port_are_told_apart(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server:
        async with pumping(rtsp(server.url("nope"))) as run:
            await run.until(lambda: run.last.code == "source_not_found")
        source = rtsp(server.url("cam"))
    async with pumping(source) as run:
        await run.until(lambda: run.last.reconnects >= 3)
    assert (run.last.state, run.last.code) == (CameraState.OFFLINE, "source_unreachable")
    assert run.meter.total(Metric.RECONNECTS) >= 3


@pytest.mark.rtsp
@pytest.mark.parametrize("transport", list(Transport))
async def test_a_camera_that_dies_and_comes_back_leaves_one_gap(clip: Path, transport: Transport) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server:
        async with pumping(rtsp(server.url("cam"), transport=transport)) as run:
            await run.until(lambda: len(run.frames) >= 10)
            server.kill()
            await run.until(lambda: run.last.state is CameraState.OFFLINE, within_s=5.0)
            seen = len(run.frames)
            await run.until(lambda: run.last.reconnects >= 2)
            await server.start()
            await run.until(lambda: len(run.frames) >= seen + 10)
            assert run.last.state is CameraState.ONLINE
    [gap] = run.gaps
    assert gap.reason is GapReason.UNREACHABLE
    assert run.times_us[seen - 1] < gap.start_us < run.times_us[seen]
    assert gap.end_us == run.times_us[seen]
    assert [epoch.epoch for epoch in run.epochs] == [1, 2]
    assert {frame.epoch for frame in run.frames[seen:]} == {2}
    assert all(step > 0 for step in run.steps_us)


@pytest.mark.rtsp
async def test_a_kicked_client_comes_back_at_once(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server, pumping(rtsp(server.url("cam"))) as run:
        await run.until(lambda: len(run.frames) >= 5)
        server.kick()
        await run.until(lambda: run.last.epoch == 2, within_s=5.0)


@pytest.mark.rtsp
async def test_a_frozen_camera_is_stalled_within_the_read_timeout_and_comes_back(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server, pumping(rtsp(server.url("cam"))) as run:
        await run.until(lambda: len(run.frames) >= 10)
        server.freeze()
        frozen = time.monotonic()
        await run.until(lambda: run.last.state is CameraState.STALLED)
        assert time.monotonic() - frozen < QUICK.read_timeout_s + BUSY_S
        assert run.gaps[0].reason is GapReason.STALLED
        seen = len(run.frames)
        server.thaw()
        await run.until(lambda: len(run.frames) >= seen + 5)
    gap = run.gaps[0]
    # A camera thawed before the link was given up sends what it held: late, but with times that leave no hole.
    first_us = min(t_us for t_us in run.times_us if t_us >= gap.start_us)
    assert gap.end_us == max(gap.start_us + 1, first_us)


@pytest.mark.slow
@pytest.mark.rtsp
async def test_a_link_that_swallows_everything_is_stalled_then_tried_again(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server, FaultProxy(server.port) as proxy:
        async with (
            pumping(rtsp(server.url("cam")), name="other") as other,
            pumping(rtsp(server.url("cam", port=proxy.port))) as run,
        ):
            await run.until(lambda: len(run.frames) >= 10)
            proxy.swallow()
            await run.until(
                lambda: run.last.state is CameraState.STALLED, within_s=QUICK.read_timeout_s + BUSY_S
            )
            before = len(other.frames)
            await run.until(lambda: len(other.frames) >= before + 25)
            assert other.last.state is CameraState.ONLINE
            assert other.gaps == []
            proxy.pass_on()
            seen = len(run.frames)
            await run.until(lambda: len(run.frames) >= seen + 5)
    assert {gap.reason for gap in run.gaps} == {GapReason.STALLED}


@pytest.mark.rtsp
async def test_a_camera_that_falls_silent_after_describing_itself_is_stalled(clip: Path) -> None:
    async with (
        RtspServer({"cam": Mount([clip])}) as server,
        FaultProxy(server.port, silent_after=b"DESCRIBE") as proxy,
        pumping(rtsp(server.url("cam", port=proxy.port))) as run,
    ):
        await run.until(lambda: run.last.state is CameraState.STALLED, within_s=QUICK.connect_timeout_s + 2.0)
        assert run.last.code == "source_stalled"


@pytest.mark.rtsp
async def test_a_camera_that_refuses_for_a_while_is_found_when_it_listens(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}) as server, FaultProxy(server.port) as proxy:
        source = rtsp(server.url("cam", port=proxy.port))
        await proxy.refuse()
        async with pumping(source) as run:
            await run.until(lambda: run.last.reconnects >= 3)
            assert run.last.state is CameraState.OFFLINE
            await proxy.accept()
            await run.until(lambda: len(run.frames) >= 3)
    assert [(gap.reason, gap.end_us) for gap in run.gaps] == [(GapReason.UNREACHABLE, run.times_us[0])]


@pytest.mark.rtsp
async def test_sound_and_data_beside_the_video_are_passed_over(clip: Path) -> None:
    def with_odd_track(description: str) -> str:
        return description + (
            "m=application 0 RTP/AVP 107\r\na=control:trackID=9\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\n"
            "a=fmtp:\r\na=x-empty:\r\n"
        )

    mounts = {"app": Mount([clip], application=True), "sound": Mount([clip], audio=True)}
    async with RtspServer(mounts) as server:
        for mount in mounts:
            # This server plays nothing to who asks for a part of what has data in it: the second attempt asks for all.
            async with pumping(
                rtsp(server.url(mount)), settings=replace(QUICK, connect_timeout_s=1.0)
            ) as run:
                await run.until(lambda: len(run.frames) >= 3)
        async with FaultProxy(server.port, rewrite_description=with_odd_track) as proxy:
            async with pumping(rtsp(server.url("sound", port=proxy.port))) as run:
                await run.until(lambda: len(run.frames) >= 3)


@pytest.mark.rtsp
async def test_a_camera_with_nothing_but_sound_is_a_named_error(tmp_path: Path) -> None:
    async with RtspServer({"cam": Mount(audio=True)}) as server, pumping(rtsp(server.url("cam"))) as run:
        await run.until(lambda: run.last.code == "no_video_track", within_s=QUICK.connect_timeout_s + BUSY_S)
    assert [gap.reason for gap in run.gaps] == [GapReason.NO_VIDEO]


@pytest.mark.rtsp
async def test_a_camera_that_changes_its_picture_size_goes_on(tmp_path: Path) -> None:
    clips = [
        write_clip(tmp_path / "a.mp4", [Shot(constant_rate(20, rate=25), gop=20)]),
        write_clip(tmp_path / "b.mp4", [Shot(constant_rate(20, rate=25), size=(240, 160), first=20, gop=20)]),
    ]
    async with RtspServer({"cam": Mount(clips)}) as server, pumping(rtsp(server.url("cam"))) as run:
        await run.until(lambda: len(run.frames) >= 70)
    assert {frame.size for frame in run.frames} == {(320, 240), (240, 160)}
    assert all(step > 0 for step in run.steps_us)
    assert run.last.reconnects == 0
    assert {(report.width_px, report.height_px) for report in run.reports} >= {(320, 240), (240, 160)}


# ---------------------------------------------------------------- stopping


@pytest.mark.slow
async def test_a_silent_source_can_be_removed_fifty_times_and_nothing_is_left() -> None:
    async with FaultProxy(0) as silent:
        source = rtsp(f"rtsp://127.0.0.1:{silent.port}/cam")
        await asyncio.wait([asyncio.create_task(_stop_while_connecting(source, silent))])  # warm up
        files = open_files()
        for _ in range(50):
            took_s = await _stop_while_connecting(source, silent)
            assert took_s < 2.0
        assert not reader_threads()
        await wait_until(lambda: silent.open_connections == 0)
        await wait_until(lambda: open_files() <= files)
        connections = silent.connections
        await asyncio.sleep(2 * QUICK.longest_pause_s)
        assert silent.connections == connections


async def _stop_while_connecting(source: Source, silent: FaultProxy) -> float:
    before = silent.connections
    async with pumping(source) as run:
        await run.until(lambda: silent.connections > before)
        begin = time.monotonic()
    return time.monotonic() - begin


@pytest.mark.rtsp
async def test_stopping_is_quick_in_every_state(clip: Path) -> None:
    async with RtspServer({"cam": Mount([clip])}, login=("a", "b")) as server:
        good = Source(server.url("cam"), credentials=Credentials("a", "b"))
        wrong = Source(server.url("cam"), credentials=Credentials("a", "c"))
        async with FaultProxy(server.port) as proxy:
            through = Source(server.url("cam", port=proxy.port), credentials=Credentials("a", "b"))
            cases = [
                (good, CameraState.CONNECTING),
                (good, CameraState.WAITING_FOR_KEYFRAME),
                (good, CameraState.ONLINE),
                (wrong, CameraState.AUTH_FAILED),
                (through, CameraState.ONLINE),
            ]
            for source, state in cases:
                async with pumping(source) as run:
                    await run.until(lambda: state in run.states)  # noqa: B023 - used at once
                    if source is through:
                        proxy.swallow()
                        await run.until(lambda: run.last.state is CameraState.STALLED)
                    begin = time.monotonic()
                assert time.monotonic() - begin < 2.0 + BUSY_S
    assert camera(good).source == good
