"""What this process tells others of its cameras: what the API shows, and no login."""

from collections.abc import Mapping

from core.cameras import Camera, CameraState, Credentials, Source, StateReport
from core.clock import ManualClock
from core.ids import CameraId
from featcache import UnknownCamera
from featcache.bulletin import encode_bulletin
from livelens.bulletins import bulletins_of, shown_source
from tests.support.roads import camera_of
from web.ports import CameraStatus

STATUS = CameraStatus(StateReport(CameraState.ONLINE, 1), (("motion", 3),), 24.5, 0.1, "measured")


class Road:
    encoded = False


class Registered:
    """Cameras of which one may be removed just as it is looked at."""

    def __init__(self, cameras: Mapping[CameraId, Camera], *, removed: str = "") -> None:
        self._cameras = cameras
        self._removed = removed

    def list(self) -> tuple[Camera, ...]:
        return tuple(self._cameras.values())

    def status(self, camera_id: CameraId) -> CameraStatus:
        if camera_id == self._removed:
            raise UnknownCamera(camera_id)
        return STATUS

    def road(self, camera_id: CameraId) -> Road:
        return Road()


def registered(*cameras: Camera, removed: str = "") -> Registered:
    return Registered({camera.id: camera for camera in cameras}, removed=removed)


def test_a_bulletin_says_what_the_api_shows() -> None:
    camera = camera_of(Source("file:///clips/a.mp4", loop=True))
    (bulletin,) = bulletins_of(registered(camera), ManualClock(70))  # type: ignore[arg-type]  # as much as is used
    assert bulletin.camera == camera
    assert (bulletin.report, bulletin.kept, bulletin.frame_rate, bulletin.delay_s) == (
        STATUS.report,
        STATUS.kept,
        24.5,
        0.1,
    )
    assert (bulletin.encoded, bulletin.at_us) == (False, 70)


def test_neither_a_login_nor_a_secret_in_the_address_leaves_the_process() -> None:
    source = Source("rtsp://10.0.0.5/main?channel=1&token=abc", Credentials("operator", "hidden"))
    (bulletin,) = bulletins_of(registered(camera_of(source)), ManualClock())  # type: ignore[arg-type]  # as above
    value = encode_bulletin(bulletin).decode()
    assert shown_source(source).url == "rtsp://10.0.0.5/main?channel=1&token=***"
    assert not any(secret in value for secret in ("operator", "hidden", "abc"))


def test_a_camera_that_is_removed_meanwhile_is_passed_over() -> None:
    gate, yard = (camera_of(Source("scene:1"), camera_id=name) for name in ("gate", "yard"))
    told = bulletins_of(registered(gate, yard, removed="gate"), ManualClock())  # type: ignore[arg-type]  # as above
    assert [bulletin.camera.id for bulletin in told] == ["yard"]
