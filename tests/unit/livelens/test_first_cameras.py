from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.ids import InvalidCameraId
from ingest import SourceRefused, check_source
from livelens.first_cameras import demo_camera, named_camera

UTC = ZoneInfo("UTC")


def test_the_demo_camera_plays_a_clip_that_is_in_the_package() -> None:
    camera = demo_camera(UTC)
    check_source(camera.source)
    assert (camera.id, camera.source.loop) == ("demo", True)


def test_a_name_before_the_address_becomes_the_camera_id() -> None:
    camera = named_camera("gate=rtsp://10.0.0.5/main?a=b", UTC, 0)
    assert (camera.id, camera.source.url) == ("gate", "rtsp://10.0.0.5/main?a=b")


def test_an_address_alone_gets_a_numbered_name_even_with_an_equals_sign_inside() -> None:
    camera = named_camera("rtsp://10.0.0.5/main?a=b", UTC, 1)
    assert (camera.id, camera.source.url) == ("camera-2", "rtsp://10.0.0.5/main?a=b")


def test_the_password_in_an_address_is_kept_apart_from_it() -> None:
    camera = named_camera("gate=rtsp://me:p%40ss@10.0.0.5/main", UTC, 0)
    assert camera.source.credentials is not None
    assert camera.source.credentials.password == "p@ss"
    assert "p%40ss" not in repr(camera)


def test_a_path_is_a_file_played_over_and_over(tmp_path: Path) -> None:
    clip = tmp_path / "a clip.mp4"
    clip.write_bytes(b"")
    camera = named_camera(f"lab={clip}", UTC, 0)
    assert (camera.source.kind, camera.source.loop) == ("file", True)


def test_what_cannot_be_a_camera_is_refused() -> None:
    with pytest.raises(InvalidCameraId):
        named_camera("Gate!=rtsp://10.0.0.5/", UTC, 0)
    with pytest.raises(SourceRefused):
        named_camera("gate=gopher://10.0.0.5/", UTC, 0)
