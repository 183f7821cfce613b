"""One connection read to its end: damaged, re-based and untimed media, straight from files and pipes."""

import asyncio
import gc
import itertools
import os
import threading
import time
from pathlib import Path
from typing import Any

import av
import pytest

from core.cameras import Source
from core.clock import ServiceClock
from core.ids import CameraId
from core.records import EpochClock
from ingest.errors import NoVideoTrack, SourceLost, SourceUndecodable
from ingest.gate import EveryPacket, PacketGate, PacketInfo
from ingest.handover import Decoded, Ended, Handover, Opened
from ingest.opening import Opener, OpenSource, described
from ingest.reader import Job, Reader
from ingest.settings import IngestSettings
from tests.support.clips import (
    Shot,
    constant_rate,
    cut_front,
    drop_ts_packets,
    join_files,
    read_number,
    write_clip,
    zero_middle,
)

SETTINGS = IngestSettings(read_timeout_s=2.0, handover_frames=1000)


class Result:
    """What one reader handed over."""

    def __init__(self, messages: list[Any], skipped: dict[str, int]) -> None:
        self.opened = [m for m in messages if isinstance(m, Opened)]
        self.frames = [m for m in messages if isinstance(m, Decoded)]
        [ended] = [m for m in messages if isinstance(m, Ended)]
        self.error = ended.error
        self.skipped = skipped
        self.numbers = [read_number(frame.picture.luma()) for frame in self.frames]


def at_once(path: Path) -> Opener:
    """Open a file as if it were a live source whose packets are all there already."""

    def opener(*_: object, **__: object) -> OpenSource:
        return described(av.open(str(path)), live=True)

    return opener


async def read(
    opener: Opener, *, gate: PacketGate | None = None, settings: IngestSettings = SETTINGS
) -> Result:
    handover = Handover(asyncio.get_running_loop(), capacity=1000)
    job = Job(
        CameraId("cam"), Source("rtsp://cam/x"), settings, ServiceClock(), gate or EveryPacket(), None, opener
    )
    reader = Reader(job, handover)
    reader.start()
    assert await asyncio.to_thread(reader.join, 20.0)
    return Result(*handover.take())


def clip(path: Path, frames: int = 50, **more: Any) -> Path:
    return write_clip(path, [Shot(constant_rate(frames), **more)])


async def test_the_end_of_a_live_source_is_a_loss_not_an_end(tmp_path: Path) -> None:
    result = await read(at_once(clip(tmp_path / "a.ts")))
    assert isinstance(result.error, SourceLost)
    assert result.numbers == list(range(50))
    assert result.opened == [Opened("h264", 320, 240)]


async def test_frames_come_in_the_order_of_showing_where_there_are_b_frames(tmp_path: Path) -> None:
    result = await read(at_once(clip(tmp_path / "a.ts", b_frames=2)))
    assert result.numbers == list(range(50))
    times = [frame.t_us for frame in result.frames]
    assert {b - a for a, b in itertools.pairwise(times)} == {100_000}


async def test_lost_transport_packets_cost_only_the_frames_they_hit(tmp_path: Path) -> None:
    broken = drop_ts_packets(clip(tmp_path / "a.ts"), tmp_path / "b.ts", seed=3)
    result = await read(at_once(broken))
    assert isinstance(result.error, SourceLost)
    assert result.skipped["corrupt"] > 0
    assert len(result.numbers) + result.skipped["corrupt"] >= 40
    assert result.numbers[-15:] == list(range(35, 50))


async def test_a_hole_of_zeros_does_not_end_the_stream(tmp_path: Path) -> None:
    result = await read(at_once(zero_middle(clip(tmp_path / "a.ts"), tmp_path / "b.ts")))
    assert isinstance(result.error, SourceLost)
    assert result.numbers[-1] == 49
    assert len(result.numbers) >= 40


async def test_nothing_comes_out_before_the_first_keyframe(tmp_path: Path) -> None:
    whole = clip(tmp_path / "a.ts", 120, gop=60)
    result = await read(at_once(cut_front(whole, tmp_path / "b.ts")))
    assert result.numbers == list(range(60, 120))
    assert result.skipped["before_keyframe"] > 10


async def test_a_good_frame_followed_by_junk_in_one_packet_still_comes_out(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.ts", 20)

    class Junk:
        """Hands on packets, some with rubbish behind the frame."""

        def __init__(self, container: Any) -> None:
            self._container = container

        def demux(self, stream: Any) -> Any:
            for n, packet in enumerate(self._container.demux(stream)):
                if n % 5 == 3 and packet.size:
                    junk = av.Packet(bytes(packet) + b"\x00\x00\x01\x0c\xff\xff\xff" + os.urandom(50))
                    junk.pts, junk.dts, junk.time_base, junk.stream = (
                        packet.pts,
                        packet.dts,
                        packet.time_base,
                        stream,
                    )
                    junk.is_keyframe = packet.is_keyframe
                    yield junk
                else:
                    yield packet

        def close(self) -> None:
            self._container.close()

    def opener(*_: object, **__: object) -> OpenSource:
        from dataclasses import replace

        opened = described(av.open(str(path)), live=True)
        return replace(opened, container=Junk(opened.container))

    result = await read(opener)
    assert result.numbers == list(range(20))


async def test_too_many_undecodable_packets_in_a_row_end_the_connection(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.mkv", 60)

    class Rubbish:
        def __init__(self, container: Any) -> None:
            self._container = container

        def demux(self, stream: Any) -> Any:
            for packet in self._container.demux(stream):
                rubbish = av.Packet(b"\x00" * 40) if packet.size else packet
                rubbish.pts, rubbish.dts, rubbish.stream = packet.pts, packet.dts, stream
                rubbish.is_keyframe = True
                yield rubbish

        def close(self) -> None:
            self._container.close()

    def opener(*_: object, **__: object) -> OpenSource:
        from dataclasses import replace

        opened = described(av.open(str(path)), live=True)
        return replace(opened, container=Rubbish(opened.container))

    result = await read(opener, settings=IngestSettings(undecodable_packets=20))
    assert isinstance(result.error, SourceUndecodable)
    assert (result.numbers, result.skipped["undecodable"]) == ([], 20)


async def test_a_wrapped_stream_clock_loses_nothing(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.ts", [Shot(constant_rate(100, start_us=95_439_400_000))])
    result = await read(at_once(path))
    assert result.numbers == list(range(100))
    times = [frame.t_us for frame in result.frames]
    assert all(abs(b - a - 100_000) <= 1 for a, b in itertools.pairwise(times))
    assert not any(frame.restarted for frame in result.frames)


async def test_a_stream_clock_that_starts_over_is_marked_and_nothing_is_lost(tmp_path: Path) -> None:
    parts = [clip(tmp_path / "a.ts"), clip(tmp_path / "b.ts", first=50)]
    result = await read(at_once(join_files(tmp_path / "ab.ts", parts)))
    assert result.numbers == list(range(100))
    assert [n for n, frame in enumerate(result.frames) if frame.restarted] == [50]


async def test_two_frames_of_the_same_time_both_come_out(tmp_path: Path) -> None:
    times = [0, 100_000, 100_000, *range(300_000, 1_000_000, 100_000)]
    path = write_clip(tmp_path / "a.mkv", [Shot(constant_rate(10))], packet_times_us=times)
    result = await read(at_once(path))
    assert result.numbers == list(range(10))
    assert "no_time" not in result.skipped


async def test_a_changed_size_in_mid_stream_goes_on(tmp_path: Path) -> None:
    shots = [Shot(constant_rate(10)), Shot(constant_rate(10, start_us=1_000_000), size=(240, 160), first=10)]
    result = await read(at_once(write_clip(tmp_path / "a.ts", shots)))
    assert result.numbers == list(range(20))
    sizes = [(frame.picture.width_px, frame.picture.height_px) for frame in result.frames]
    assert sizes == [(320, 240)] * 10 + [(240, 160)] * 10


async def test_what_the_gate_refuses_is_not_decoded_and_the_next_keyframe_begins_anew(tmp_path: Path) -> None:
    class NotTheFifth:
        seen = 0

        def wants(self, packet: PacketInfo) -> bool:
            self.seen += 1
            return self.seen != 6

    result = await read(at_once(clip(tmp_path / "a.ts", 30, gop=10)), gate=NotTheFifth())
    assert result.numbers == [0, 1, 2, 3, 4, *range(10, 30)]
    assert (result.skipped["gate"], result.skipped["before_keyframe"]) == (1, 4)


async def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.ts", [Shot(constant_rate(10))], audio="only")
    result = await read(at_once(path))
    assert isinstance(result.error, NoVideoTrack)
    assert "audio" in result.error.detail
    assert result.opened == []


async def test_video_behind_sound_is_found(tmp_path: Path) -> None:
    result = await read(at_once(write_clip(tmp_path / "a.ts", [Shot(constant_rate(10))], audio="first")))
    assert result.numbers == list(range(10))


async def test_a_finished_reader_leaves_no_packet_and_no_decoder_behind(tmp_path: Path) -> None:
    path = clip(tmp_path / "a.ts")

    def alive() -> dict[str, int]:
        gc.collect()
        kinds = ("Packet", "VideoFrame", "VideoCodecContext", "InputContainer")
        names = [
            type(thing).__name__
            for thing in gc.get_objects()
            if str(type(thing).__module__).startswith("av.")
        ]
        return {kind: names.count(kind) for kind in kinds}

    before = alive()
    result = await read(at_once(path))
    assert len(result.frames) == 50
    del result
    assert alive() == before


@pytest.mark.parametrize(
    ("name", "encoder", "container"), [("a.h264", "libx264", "h264"), ("a.mjpeg", "mjpeg", "mjpeg")]
)
async def test_a_raw_stream_served_in_real_time_spans_the_time_it_took(
    tmp_path: Path, name: str, encoder: str, container: str
) -> None:
    path = write_clip(tmp_path / name, [Shot(constant_rate(20))], encoder=encoder, container=container)
    starts = _frame_starts(path, container)
    quick = {"probesize": "1024", "analyzeduration": "0", "fpsprobesize": "0"}

    inward, outward = os.pipe()
    with os.fdopen(inward, "rb", buffering=0) as pipe:

        def opener(*_: object, **__: object) -> OpenSource:
            threading.Thread(target=_serve, args=(path.read_bytes(), starts, outward)).start()
            opened = av.open(pipe, format=container, buffer_size=512, options=quick)
            return described(opened, live=True)

        result = await read(opener)
    assert len(result.frames) == 20
    assert {frame.clock for frame in result.frames} == {EpochClock.ARRIVAL}
    span_us = result.frames[-1].t_us - result.frames[0].t_us
    assert abs(span_us - 1_900_000) < 200_000


def _frame_starts(path: Path, container: str) -> list[int]:
    sizes = []
    with av.open(str(path), format=container) as opened:
        sizes = [packet.size for packet in opened.demux(video=0) if packet.size]
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + size)
    return starts


def _serve(data: bytes, starts: list[int], outward: int) -> None:
    """Write frames ten times a second."""
    due = time.monotonic()
    with os.fdopen(outward, "wb", buffering=0) as pipe:
        for start, end in itertools.pairwise(starts):
            threading.Event().wait(max(0.0, due - time.monotonic()))
            pipe.write(data[start:end])
            due += 0.1
