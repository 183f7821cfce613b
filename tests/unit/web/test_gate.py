import logging
from collections.abc import Mapping

import httpx2
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from core.clock import ManualClock
from core.errors import ServiceError
from core.ids import CameraId, InvalidCameraId
from core.meter import Metric, TallyMeter
from tests.support.web_fakes import World
from web.access import LOCAL_ADMIN, LoopbackOnly, Peer, Principal, Role
from web.errors import (
    Forbidden,
    ForeignOrigin,
    HostNotAllowed,
    KeysRequired,
    MethodNotAllowed,
    UnknownPath,
)
from web.gate import Gate, admit
from web.routes import TABLE, WEBSOCKET, Route
from web.settings import WebSettings

HERE = {"host": "localhost:8080"}
FOREIGN = {**HERE, "origin": "https://other.example"}


class Somebody:
    """Takes everybody for one principal."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    def principal(self, peer: Peer) -> Principal:
        return self._principal


def ask(method: str, path: str, headers: Mapping[str, str] = HERE, host: str = "127.0.0.1") -> Principal:
    peer = Peer(host, headers)
    return admit(method, path, peer, authenticator=LoopbackOnly(), settings=WebSettings()).principal


def test_this_machine_is_admitted() -> None:
    assert ask("GET", "/api/v1/cameras") is LOCAL_ADMIN


@pytest.mark.parametrize("path", ["/", "/docs", "/api/v1/cameras", "/metrics", "/nothing"])
def test_another_machine_is_not_and_learns_nothing_of_the_paths(path: str) -> None:
    with pytest.raises(KeysRequired):
        ask("GET", path, host="10.0.0.9")


def test_a_prober_of_another_machine_learns_that_the_server_lives() -> None:
    assert ask("GET", "/healthz", {"host": "10.0.0.1:8080"}, host="10.0.0.9").role is Role.NOBODY


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", WEBSOCKET])
def test_a_foreign_page_may_not_act(method: str) -> None:
    paths = {"POST": "/api/v1/cameras", WEBSOCKET: "/api/v1/live"}
    path = paths.get(method, "/api/v1/cameras/gate")
    with pytest.raises(ForeignOrigin):
        ask(method, path, FOREIGN)
    assert ask(method, path, {**HERE, "origin": "http://localhost:8080"}) is LOCAL_ADMIN
    assert ask(method, path) is LOCAL_ADMIN, "no browser, no origin"


def test_reading_needs_no_origin_as_the_browser_keeps_the_reply_from_foreign_pages() -> None:
    assert ask("GET", "/api/v1/cameras", FOREIGN) is LOCAL_ADMIN


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_foreign_page_may_not_show_our_pictures_as_its_own(site: str) -> None:
    shown = {**HERE, "sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    with pytest.raises(ForeignOrigin):
        ask("GET", "/api/v1/cameras/gate/preview.mjpeg", shown)
    followed = {**shown, "sec-fetch-mode": "navigate"}
    assert ask("GET", "/api/v1/cameras/gate/latest.jpg", followed) is LOCAL_ADMIN


def test_a_rebound_name_does_not_reach_us() -> None:
    with pytest.raises(HostNotAllowed):
        ask("GET", "/", {"host": "evil.example:8080"})


def test_what_is_not_in_the_table_is_not_there() -> None:
    with pytest.raises(UnknownPath):
        ask("POST", "/api/v1/nothing")
    with pytest.raises(MethodNotAllowed):
        ask("PUT", "/api/v1/cameras")


def test_a_name_that_can_be_no_camera_goes_no_further() -> None:
    with pytest.raises(InvalidCameraId):
        ask("GET", "/api/v1/cameras/GATE")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.path}")
def test_every_row_asks_whether_the_caller_may(row: Route) -> None:
    path = row.path.replace("{camera_id}", "gate").replace("{t_us}", "1").replace("{name}", "x")
    path = path.replace("{path:path}", "css/x.css")
    nothing = Somebody(Principal("none", Role.VIEWER, frozenset({CameraId("other")})))
    try:
        admitted = admit(
            row.method, path, Peer("127.0.0.1", HERE), authenticator=nothing, settings=WebSettings()
        )
    except Forbidden:
        assert row.action in {"metrics", "manage", "view"}
    else:
        assert admitted.route == row
        assert "{camera_id}" not in row.path


async def test_a_fault_inside_is_answered_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("secret detail")

    tally = TallyMeter()
    gate = Gate(
        breaks, authenticator=LoopbackOnly(), settings=WebSettings(), meter=tally, clock=ManualClock()
    )
    with caplog.at_level(logging.CRITICAL, logger="web.gate"):
        reply = await call(gate, "GET", "/healthz")
    assert reply.status_code == 500
    assert reply.json()["code"] == "internal_error"
    assert "secret" not in reply.text
    labels = (("method", "GET"), ("route", "/healthz"), ("status", "500"))
    assert tally.counts[Metric.HTTP_REQUESTS, labels] == 1


async def call(gate: Gate, method: str, path: str, body: bytes = b"") -> httpx2.Response:
    transport = httpx2.ASGITransport(app=gate, client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.request(method, path, content=body)


async def test_a_refusal_of_ours_inside_becomes_its_problem() -> None:
    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        raise UnknownPath

    settings = WebSettings()
    gate = Gate(
        refuses, authenticator=LoopbackOnly(), settings=settings, meter=TallyMeter(), clock=ManualClock()
    )
    assert (await call(gate, "GET", "/healthz")).json()["code"] == "unknown_path"


async def test_a_body_is_whole_before_anybody_reads_it() -> None:
    seen: list[Message] = []

    async def reads(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(await receive())
        await PlainTextResponse("ok")(scope, receive, send)

    settings = WebSettings(max_body_bytes=10)
    gate = Gate(
        reads, authenticator=LoopbackOnly(), settings=settings, meter=TallyMeter(), clock=ManualClock()
    )
    assert (await call(gate, "POST", "/api/v1/ask", b"0123456789")).status_code == 200
    assert seen == [{"type": "http.request", "body": b"0123456789", "more_body": False}]
    too_large = await call(gate, "POST", "/api/v1/ask", b"0123456789x")
    assert (too_large.status_code, too_large.json()["code"]) == (413, "body_too_large")
    assert len(seen) == 1


async def test_a_large_body_is_refused_by_name_on_a_real_connection(http: httpx2.AsyncClient) -> None:
    reply = await http.post("/api/v1/ask", content=b"x" * 10_000_000)
    assert (reply.status_code, reply.json()["code"]) == (413, "body_too_large")


async def test_every_reply_has_the_headers_that_protect_it(http: httpx2.AsyncClient) -> None:
    for path in ("/healthz", "/nothing", "/api/v1/cameras", "/docs"):
        headers = (await http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
        assert scripts == "script-src 'self'"
        assert "server" not in headers


async def test_head_gets_the_head_of_get_without_its_body(http: httpx2.AsyncClient) -> None:
    got, head = await http.get("/healthz"), await http.head("/healthz")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


async def test_a_foreign_origin_is_refused_on_a_real_connection(http: httpx2.AsyncClient) -> None:
    reply = await http.post("/api/v1/cameras", json={}, headers={"origin": "https://other.example"})
    assert (reply.status_code, reply.json()["code"]) == (403, "foreign_origin")


async def test_a_foreign_host_is_refused_on_a_real_connection(http: httpx2.AsyncClient) -> None:
    reply = await http.get("/api/v1/cameras", headers={"host": "evil.example"})
    assert (reply.status_code, reply.json()["code"]) == (403, "host_not_allowed")


async def test_requests_are_counted_by_route(http: httpx2.AsyncClient, world: World) -> None:
    await http.get("/api/v1/cameras/gate")
    await http.get("/api/v1/cameras/other")
    text = world.meter.render().decode()
    route = 'route="/api/v1/cameras/{camera_id}"'
    assert f'livelens_http_requests_total{{method="GET",{route},status="200"}} 1.0' in text
    assert f'livelens_http_requests_total{{method="GET",{route},status="404"}} 1.0' in text


def test_an_inner_error_stays_an_inner_error() -> None:
    assert ServiceError().code == "internal_error"
