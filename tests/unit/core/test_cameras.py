from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cameras import (
    Camera,
    CameraState,
    Credentials,
    ProbeReport,
    Source,
    StateReport,
    Transport,
)
from core.ids import CameraId, Incarnation

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("url", "kind"),
    [("rtsp://10.0.0.5/a", "rtsp"), ("rtsps://10.0.0.5/a", "rtsps"), ("file:/clips/a.mp4", "file")],
)
def test_a_source_knows_its_kind(url: str, kind: str) -> None:
    assert Source(url).kind == kind


def test_without_credentials_the_address_is_the_url() -> None:
    assert Source("rtsp://10.0.0.5:554/main?x=1").address() == "rtsp://10.0.0.5:554/main?x=1"


def test_credentials_go_into_the_address_and_the_rest_stays() -> None:
    source = Source("rtsp://10.0.0.5:554/main?x=1#y", Credentials("admin", "a:b@c/d%"))
    assert source.address() == "rtsp://admin:a%3Ab%40c%2Fd%25@10.0.0.5:554/main?x=1#y"


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), st.text(alphabet="aé:@/?#[]% \\")
)
def test_any_name_and_password_survive_the_address(username: str, password: str) -> None:
    parts = urlsplit(Source("rtsp://10.0.0.5:554/main", Credentials(username, password)).address())
    assert (parts.hostname, parts.port, parts.path) == ("10.0.0.5", 554, "/main")
    assert unquote(parts.username or "") == username
    assert unquote(parts.password or "") == password


def test_an_ipv6_address_keeps_its_brackets() -> None:
    source = Source("rtsp://[fe80::1]:554/main", Credentials("a", "b"))
    assert source.address() == "rtsp://a:b@[fe80::1]:554/main"


def test_a_password_never_shows() -> None:
    source = Source("rtsp://10.0.0.5/a", Credentials("admin", SECRET))
    camera = Camera(CameraId("gate"), "Gate", source, ZoneInfo("UTC"), Incarnation("life1"), created_us=1)
    assert SECRET not in f"{camera!r} {camera} {source!r}"
    assert "admin" in repr(source)


def test_a_source_is_read_over_tcp_and_once_unless_told_otherwise() -> None:
    source = Source("rtsp://10.0.0.5/a")
    assert (source.transport, source.loop, source.credentials) == (Transport.TCP, False, None)


def test_states_are_those_the_interface_names() -> None:
    assert [state.value for state in CameraState] == [
        "connecting",
        "waiting_for_keyframe",
        "online",
        "stalled",
        "offline",
        "auth_failed",
        "disabled",
    ]


def test_a_camera_that_just_began_reports_nothing_yet() -> None:
    report = StateReport(CameraState.CONNECTING, since_us=1)
    assert (report.code, report.last_t_us, report.frames_total, report.reconnects) == (None, None, 0, 0)


def test_a_picture_does_not_flood_the_log() -> None:
    assert "xxxx" not in repr(ProbeReport(ok=True, jpeg=b"x" * 100))
