"""One look at a source."""

import asyncio
import io
import time
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from core.cameras import ProbeReport, Source
from ingest import SourceRefused, parse_source
from ingest.probe import probe
from tests.support.clips import Shot, constant_rate, read_number, write_clip, write_grey
from tests.support.faults import FaultProxy, wait_until
from tests.support.pumping import QUICK, reader_threads
from tests.support.rtsp_server import Mount, RtspServer, certificate


async def look(source: Source) -> ProbeReport:
    report = await probe(source, settings=QUICK)
    assert not reader_threads()
    return report


def pixels(report: ProbeReport) -> np.ndarray:
    assert report.jpeg is not None
    bgr = cv2.imdecode(np.frombuffer(io.BytesIO(report.jpeg).getbuffer(), dtype=np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))


async def test_a_file_is_described_with_its_first_picture(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(10), first=42)])
    report = await look(parse_source(f"file:{clip}"))
    assert (report.ok, report.codec, report.width_px, report.height_px) == (True, "h264", 320, 240)
    assert report.frame_rate == pytest.approx(10, abs=1.5)
    assert read_number(pixels(report)) == 42


@pytest.mark.parametrize("full_range", [False, True])
async def test_the_pictures_grey_is_right_in_both_ranges(tmp_path: Path, full_range: bool) -> None:
    clip = write_grey(tmp_path / "a.mp4", level=64, full_range=full_range)
    report = await look(parse_source(f"file:{clip}"))
    assert np.abs(pixels(report).astype(int) - 64).max() <= 4


async def test_a_source_without_video_says_so(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.ts", [Shot(constant_rate(6))], audio="only")
    report = await look(parse_source(f"file:{clip}"))
    assert (report.ok, report.code, report.jpeg) == (False, "no_video_track", None)


async def test_a_missing_file_and_rubbish_have_names_of_their_own(tmp_path: Path) -> None:
    assert (await look(parse_source(f"file:{tmp_path}/none.mp4"))).code == "source_not_found"
    (tmp_path / "rubbish.mp4").write_bytes(b"not a video" * 100)
    assert (await look(parse_source(f"file:{tmp_path}/rubbish.mp4"))).code == "source_failed"


async def test_what_is_not_allowed_is_refused() -> None:
    with pytest.raises(SourceRefused):
        await probe(Source("http://cam/x"), settings=QUICK)


async def test_a_silent_camera_takes_no_longer_than_the_limit() -> None:
    async with FaultProxy(0) as silent:
        begin = time.monotonic()
        report = await look(parse_source(f"rtsp://127.0.0.1:{silent.port}/x"))
        assert (report.ok, report.code) == (False, "source_stalled")
        assert time.monotonic() - begin < QUICK.connect_timeout_s + 4.0


async def test_a_probe_that_is_cancelled_leaves_nothing() -> None:
    async with FaultProxy(0) as silent:
        task = asyncio.create_task(probe(parse_source(f"rtsp://127.0.0.1:{silent.port}/x"), settings=QUICK))
        await wait_until(lambda: silent.connections > 0)
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begin < 3.0
        assert not reader_threads()


@pytest.mark.rtsp
async def test_a_slow_camera_is_timed_by_its_packets_and_its_password_stays_hidden(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(20))])
    async with RtspServer({"cam": Mount([clip])}, login=("u", "s3cret")) as server:
        report = await look(parse_source(server.url("cam"), username="u", password="s3cret"))
        assert report.ok
        assert report.frame_rate == pytest.approx(10, abs=0.5)
        refused = await look(parse_source(server.url("cam"), username="u", password="s3cret2"))
        assert refused.code == "auth_failed"
        assert "s3cret" not in repr(refused)


@pytest.mark.rtsp
async def test_a_certificate_that_is_not_trusted_is_refused_by_name(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.mp4", [Shot(constant_rate(20, rate=25))])
    own, key = certificate(tmp_path, "localhost")
    trusting = replace(QUICK, tls_ca_file=str(own))
    async with RtspServer({"cam": Mount([clip])}, tls=(own, key)) as server:
        by_number = parse_source(server.url("cam"))
        by_name = parse_source(server.url("cam").replace("127.0.0.1", "localhost"))
        assert (await look(by_name)).code == "tls_error"
        assert (await probe(by_number, settings=trusting)).code == "tls_error"
        assert (await probe(by_name, settings=trusting)).ok
    async with RtspServer({"cam": Mount([clip])}, tls=(own, key)) as server:
        assert (await probe(parse_source(server.url("cam")), settings=replace(QUICK, tls_verify=False))).ok
