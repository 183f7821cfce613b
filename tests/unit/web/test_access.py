import pytest

from core.ids import CameraId
from web.access import (
    LOCAL_ADMIN,
    NOBODY,
    Action,
    LoopbackOnly,
    Peer,
    Principal,
    Role,
    fetch_allowed,
    host_allowed,
    is_loopback,
    may,
    origin_allowed,
)

GATE, DOOR = CameraId("gate"), CameraId("door")


@pytest.mark.parametrize("action", list(Action))
def test_this_machine_may_do_everything(action: Action) -> None:
    assert may(LOCAL_ADMIN, action)
    assert may(LOCAL_ADMIN, action, GATE)


@pytest.mark.parametrize("action", list(Action))
def test_nobody_may_only_ask_whether_the_server_lives(action: Action) -> None:
    assert may(NOBODY, action) is (action is Action.HEALTH)


def test_a_viewer_sees_and_asks_but_changes_nothing() -> None:
    viewer = Principal("eve", Role.VIEWER)
    assert may(viewer, Action.VIEW, GATE)
    assert may(viewer, Action.ASK, GATE)
    assert may(viewer, Action.CHAT)
    assert not may(viewer, Action.MANAGE, GATE)
    assert not may(viewer, Action.METRICS)


def test_who_is_bound_to_some_cameras_reaches_no_other() -> None:
    bound = Principal("gatekeeper", Role.ADMIN, frozenset({GATE}))
    assert may(bound, Action.VIEW, GATE)
    assert may(bound, Action.LIST)
    assert not may(bound, Action.VIEW, DOOR)
    assert not may(bound, Action.MANAGE), "probing reaches any address"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_loopback_peers_are_this_machine(host: str) -> None:
    assert LoopbackOnly().principal(Peer(host, {})) == LOCAL_ADMIN


@pytest.mark.parametrize("host", ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "localhost", "", None])
def test_all_other_peers_are_nobody(host: str | None) -> None:
    assert not is_loopback(host)
    assert LoopbackOnly().principal(Peer(host, {})) == NOBODY


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip", "via"])
def test_who_came_through_a_proxy_is_not_this_machine(header: str) -> None:
    assert LoopbackOnly().principal(Peer("127.0.0.1", {header: "127.0.0.1"})) == NOBODY


@pytest.mark.parametrize(
    "header", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "Cam.Example"]
)
def test_our_own_names_are_allowed_hosts(header: str) -> None:
    assert host_allowed(header, ["cam.example"])


@pytest.mark.parametrize(
    "header", [None, "", "evil.example", "localhost.evil.example", "10.0.0.1", "[", "a b"]
)
def test_foreign_names_are_not(header: str | None) -> None:
    assert not host_allowed(header, ["cam.example"])


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "localhost:8080", True),
        ("http://localhost:8080", "localhost:8080", True),
        ("https://cam.example", "cam.example", True),
        ("https://app.example", "cam.example", True),
        ("http://localhost:3000", "localhost:8080", False),
        ("http://127.0.0.1:8080", "localhost:8080", False),
        ("https://other.example", "localhost:8080", False),
        ("null", "localhost:8080", False),
        ("", "localhost:8080", False),
        ("", "", False),
        ("file://", "", False),
        ("http://[", "localhost", False),
    ],
)
def test_only_our_own_pages_and_listed_ones_may_act(origin: str | None, host: str, allowed: bool) -> None:
    assert origin_allowed(origin, host, ["https://APP.example/"]) is allowed


@pytest.mark.parametrize(
    ("site", "mode", "allowed"),
    [
        (None, None, True),
        ("same-origin", "cors", True),
        ("none", "navigate", True),
        ("cross-site", "navigate", True),
        ("cross-site", "no-cors", False),
        ("same-site", "no-cors", False),
        ("cross-site", None, False),
    ],
)
def test_a_browser_fetches_for_our_pages_or_for_a_followed_link(
    site: str | None, mode: str | None, allowed: bool
) -> None:
    assert fetch_allowed(site, mode, ()) is allowed
    assert fetch_allowed(site, mode, ("https://app.example",))
