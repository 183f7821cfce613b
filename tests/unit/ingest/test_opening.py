"""Opening a source: limits, choice of the track, foreign errors made ours."""

import logging
from pathlib import Path

import av
import av.error
import pytest

from core.cameras import Credentials, Source
from ingest.errors import (
    AuthFailed,
    NoVideoTrack,
    SourceError,
    SourceFailed,
    SourceLost,
    SourceNotFound,
    SourceStalled,
    SourceUnreachable,
)
from ingest.interrupt import Interrupter
from ingest.opening import described, open_source, translated
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.pumping import QUICK

CAMERA = Source("rtsp://cam/x", credentials=Credentials("u", "s3cret"))
TEXT = "Server said no: 'rtsp://u:s3cret@cam/x'"


def ours(error: Exception, source: Source = CAMERA, *, opening: bool = True) -> SourceError:
    with pytest.raises(SourceError) as raised, translated(source, Interrupter(), opening=opening):
        raise error
    return raised.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (av.error.HTTPUnauthorizedError(1, "401", CAMERA.address()), AuthFailed),
        (av.error.HTTPForbiddenError(1, "403", CAMERA.address()), AuthFailed),
        (av.error.HTTPNotFoundError(1, "404", CAMERA.address()), SourceNotFound),
        (av.error.HTTPOtherClientError(1, "4xx", CAMERA.address()), SourceFailed),
        (av.error.ConnectionRefusedError(111, "refused", CAMERA.address()), SourceUnreachable),
        (OSError(113, "no route to host"), SourceUnreachable),
        (av.error.InvalidDataError(1, "invalid data", CAMERA.address()), SourceUnreachable),
    ],
)
def test_foreign_errors_become_ours_without_the_password(
    error: Exception, kind: type[SourceError], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        translation = ours(error)
    assert type(translation) is kind
    assert "s3cret" not in str(translation)
    assert translation.__cause__ is None
    assert translation.__suppress_context__
    assert all("s3cret" not in repr(vars(record)) for record in caplog.records)


def test_what_fails_later_is_a_loss() -> None:
    assert type(ours(OSError(104, "connection reset"), opening=False)) is SourceLost


def test_the_end_of_patience_is_a_stall_once_connected_and_unreachable_before() -> None:
    late = Interrupter()
    late.limit(-1.0)
    late.now_s()
    assert late.timed_out
    nobody = Source("rtsp://127.0.0.1:9/x")
    for opening, kind in ((False, SourceStalled), (True, SourceUnreachable)):
        with pytest.raises(kind), translated(nobody, late, opening=opening):
            raise av.error.ExitError(1, "exit", "x")


def test_a_file_is_opened_with_its_facts(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a b#1.mp4", [Shot(constant_rate(10, rate=20))], audio="last")
    opened = open_source(Source(f"file:{clip}"), QUICK, Interrupter())
    with opened.container:
        assert (opened.codec, opened.width_px, opened.height_px) == ("h264", 320, 240)
        assert (opened.has_clock, opened.live) == (True, False)


@pytest.mark.parametrize(("name", "encoder"), [("a.h264", "libx264"), ("a.mjpeg", "mjpeg")])
def test_raw_streams_have_no_clock(tmp_path: Path, name: str, encoder: str) -> None:
    clip = write_clip(tmp_path / name, [Shot(constant_rate(10))], encoder=encoder, container=name[2:])
    opened = open_source(Source(f"file:{clip}"), QUICK, Interrupter())
    with opened.container:
        assert not opened.has_clock


def test_no_video_closes_what_was_opened(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "a.ts", [Shot(constant_rate(6))], audio="only")
    container = av.open(str(clip))
    with pytest.raises(NoVideoTrack):
        described(container, live=False)
    assert not container.input_was_opened
