"""Streams that somebody in this process makes, read by the real pump: here a clip, piece by piece."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from core.cameras import CameraState, Source
from core.ids import CameraId
from ingest import SourceRefused, Wait, check_source, parse_source, probe
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.pumping import QUICK, pumping, reader_threads

FRAMES = 12


@dataclass
class Tape:
    """Plays one clip's bytes, a frame's share every 40 ms, then is silent, or ends, or breaks."""

    data: bytes
    wait: Wait
    then: str = "silence"

    def __post_init__(self) -> None:
        self.share = len(self.data) // FRAMES

    def read(self, size: int) -> bytes:
        size = min(size, self.share)
        given, self.data = self.data[:size], self.data[size:]
        if given or self.then == "end":
            return b"" if self.wait(0.04) else given
        if self.then == "fault":
            raise RuntimeError("the tape is torn")
        assert self.wait(600.0)
        return b""


@dataclass
class Tapes:
    """The scheme ``tape:``."""

    clip: bytes
    then: str = "silence"
    container: str = "mpegts"
    opened: list[CameraId | None] = field(default_factory=list)

    def check(self, source: Source) -> None:
        if source.url != "tape:1":
            raise SourceRefused("there is one tape, tape:1")

    def open(self, source: Source, *, camera_id: CameraId | None, wait: Wait) -> Tape:
        self.opened.append(camera_id)
        return Tape(self.clip, wait, self.then)


@pytest.fixture
def clip(tmp_path: Path) -> bytes:
    return write_clip(tmp_path / "a.ts", [Shot(constant_rate(FRAMES, rate=25))]).read_bytes()


def test_a_scheme_is_read_only_where_somebody_makes_its_streams() -> None:
    feeds = {"tape": Tapes(b"")}
    assert parse_source("Tape:1", feeds=feeds) == Source("tape:1")
    with pytest.raises(SourceRefused, match="rtsp://, rtsps:// or file: address"):
        parse_source("tape:1")
    with pytest.raises(SourceRefused, match="or tape: address"):
        parse_source("disk:1", feeds=feeds)
    with pytest.raises(SourceRefused):
        check_source(Source("tape:1"))


def test_whoever_makes_the_streams_says_which_addresses_make_sense() -> None:
    feeds = {"tape": Tapes(b"")}
    check_source(Source("tape:1"), feeds)
    with pytest.raises(SourceRefused, match="one tape"):
        parse_source("tape:2", feeds=feeds)
    with pytest.raises(SourceRefused, match="one tape"):
        check_source(Source("tape:2"), feeds)
    with pytest.raises(SourceRefused, match="no name"):
        parse_source("tape:1", "me", feeds=feeds)
    with pytest.raises(SourceRefused, match="looped"):
        parse_source("tape:1", loop=True, feeds=feeds)


async def test_every_frame_of_a_feed_comes_out_and_a_waiting_one_stops_at_once(clip: bytes) -> None:
    tapes, patient = Tapes(clip), replace(QUICK, read_timeout_s=60.0)
    async with pumping(Source("tape:1"), feeds={"tape": tapes}, settings=patient) as run:
        await run.until(lambda: len(run.frames) >= FRAMES - 3)  # FFmpeg's parser holds the last ones
        asked = time.monotonic()
    assert time.monotonic() - asked < 1.0
    assert run.numbers == list(range(len(run.frames)))
    assert run.last.state is CameraState.ONLINE
    assert tapes.opened == ["cam"]
    assert reader_threads() == []


async def test_a_feed_that_falls_silent_is_a_stalled_camera(clip: bytes) -> None:
    async with pumping(Source("tape:1"), feeds={"tape": Tapes(clip)}) as run:
        await run.until(lambda: run.last.state is CameraState.STALLED)
    assert run.last.code == "source_stalled"


@pytest.mark.logs_errors
@pytest.mark.parametrize(("then", "code"), [("end", "source_lost"), ("fault", "source_failed")])
async def test_a_feed_that_ends_or_fails_is_opened_again(clip: bytes, then: str, code: str) -> None:
    tapes = Tapes(clip, then)
    async with pumping(Source("tape:1"), feeds={"tape": tapes}) as run:
        await run.until(lambda: len(tapes.opened) >= 2 and run.last.epoch == 2)
    assert code in {report.code for report in run.reports}
    assert run.times_us == sorted(set(run.times_us))


async def test_a_feed_that_is_no_video_is_a_failed_source() -> None:
    async with pumping(Source("tape:1"), feeds={"tape": Tapes(b"rubbish" * 9000, "end")}) as run:
        await run.until(lambda: run.last.code is not None)
    assert run.last.state is CameraState.OFFLINE


async def test_a_probe_shows_a_feeds_first_picture_and_belongs_to_no_camera(clip: bytes) -> None:
    tapes = Tapes(clip)
    report = await probe(Source("tape:1"), settings=QUICK, feeds={"tape": tapes})
    assert (report.ok, report.codec, report.width_px) == (True, "h264", 320)
    assert report.jpeg is not None
    assert tapes.opened == [None]
    assert reader_threads() == []
