from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from core.clock import ManualClock
from core.ids import InvalidCameraId
from ingest import SourceRefused, check_source
from livelens.addresses import SCENE
from livelens.first_cameras import CAR_PARK_CAMERA, DEMO_CAMERA, demo_cameras, named_camera
from livelens.scene_feed import SceneFeeds, scene_seed
from models.builtin.scenes import kind_of, scene_truth
from models.builtin.things import Ground
from models.builtin.world import SECOND_US

UTC = ZoneInfo("UTC")


FEEDS = {SCENE: SceneFeeds(ManualClock())}


def test_the_demo_shows_a_generated_scene_beside_a_clip_that_is_in_the_package() -> None:
    scene, clip = demo_cameras(UTC)
    for camera in (scene, clip):
        check_source(camera.source, FEEDS)
    assert (scene.id, scene.source.kind) == (DEMO_CAMERA, "scene")
    assert (clip.id, clip.source.kind, clip.source.loop) == (CAR_PARK_CAMERA, "file", True)


def test_the_demo_scene_is_wide_on_a_calm_ground() -> None:
    kind = kind_of(scene_seed(demo_cameras(UTC)[0].source))
    assert (kind.width_px, kind.height_px) == (640, 360)
    assert kind.ground in (Ground.PLAIN, Ground.GRADED)


def test_in_any_half_minute_of_the_demo_scene_something_appears_or_leaves() -> None:
    truth = scene_truth(scene_seed(demo_cameras(UTC)[0].source), 3600 * SECOND_US)
    changes = {thing.appears_us for thing in truth.objects} | {
        thing.leaves_us for thing in truth.objects if thing.leaves_us is not None
    }
    ordered = sorted(changes | {0, 3600 * SECOND_US})
    assert max(after - before for before, after in pairwise(ordered)) < 30 * SECOND_US


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


def test_a_generated_scene_may_be_named_too() -> None:
    camera = named_camera("toy=scene:42", UTC, 0, feeds=FEEDS)
    assert (camera.id, camera.source.url, camera.source.loop) == ("toy", "scene:42", False)
    assert named_camera("scene:42", UTC, 0, feeds=FEEDS).id == "camera-1"
    with pytest.raises(SourceRefused):
        named_camera("toy=scene:x", UTC, 0, feeds=FEEDS)


def test_what_cannot_be_a_camera_is_refused() -> None:
    with pytest.raises(InvalidCameraId):
        named_camera("Gate!=rtsp://10.0.0.5/", UTC, 0)
    with pytest.raises(SourceRefused):
        named_camera("gate=gopher://10.0.0.5/", UTC, 0)
