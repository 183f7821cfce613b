import httpx2

from core.ids import CameraId
from tests.support.web_fakes import GATE, World, serving
from web.access import Peer, Principal, Role
from web.app import create_app

NEW = {"id": "door", "source": {"url": "rtsp://user:p%40ss@10.0.0.6/live"}}


async def test_a_camera_is_registered_shown_changed_and_removed(http: httpx2.AsyncClient) -> None:
    made = await http.post("/api/v1/cameras", json={**NEW, "name": "Back door", "zone": "Asia/Shanghai"})
    assert made.status_code == 201
    assert made.headers["location"] == "/api/v1/cameras/door"
    body = made.json()
    assert (body["name"], body["zone"], body["enabled"]) == ("Back door", "Asia/Shanghai", True)
    assert body["source"] == {
        "url": "rtsp://10.0.0.6/live",
        "transport": "tcp",
        "loop": False,
        "username": "user",
        "has_password": True,
    }
    assert (await http.get("/api/v1/cameras/door")).json()["id"] == "door"
    changed = await http.patch("/api/v1/cameras/door", json={"name": "Door", "enabled": False})
    assert (changed.json()["name"], changed.json()["enabled"]) == ("Door", False)
    assert changed.json()["zone"] == "Asia/Shanghai"
    assert (await http.delete("/api/v1/cameras/door")).json() == {"deleted_frames": 0}
    assert (await http.get("/api/v1/cameras/door")).json()["code"] == "unknown_camera"


async def test_a_camera_without_name_and_zone_gets_its_id_and_the_servers_zone(
    http: httpx2.AsyncClient,
) -> None:
    body = (await http.post("/api/v1/cameras", json=NEW)).json()
    assert (body["name"], body["zone"]) == ("door", "UTC")
    assert [camera["id"] for camera in (await http.get("/api/v1/cameras")).json()["cameras"]] == [
        "door",
        "gate",
    ]


async def test_a_password_comes_back_in_no_reply(http: httpx2.AsyncClient, world: World) -> None:
    source = {"url": "rtsp://10.0.0.6/live?token=tok3n", "username": "user", "password": "s3cret"}
    replies = [
        await http.post("/api/v1/cameras", json={"id": "door", "source": source}),
        await http.get("/api/v1/cameras"),
        await http.patch("/api/v1/cameras/door", json={"source": {**source, "transport": "sctp"}}),
        await http.post("/api/v1/camera-probes", json={"source": source}),
        await http.post("/api/v1/cameras", json={"id": "x", "source": {**source, "password": ["s3cret"]}}),
        await http.post(
            "/api/v1/cameras", json={"id": "x", "source": {**source, "url": "gopher://u:s3cret@h/"}}
        ),
    ]
    for reply in replies:
        assert "s3cret" not in reply.text
        assert "tok3n" not in reply.text
    kept = world.registry.get(CameraId("door")).source
    assert kept.credentials is not None
    assert kept.credentials.password == "s3cret"


async def test_a_changed_source_keeps_its_password_only_on_its_host(
    http: httpx2.AsyncClient, world: World
) -> None:
    await http.patch("/api/v1/cameras/gate", json={"source": {"url": "rtsp://10.0.0.5:554/sub"}})
    kept = world.registry.get(GATE).source
    assert (kept.url, kept.credentials and kept.credentials.password) == ("rtsp://10.0.0.5:554/sub", "s3cret")
    await http.patch("/api/v1/cameras/gate", json={"source": {"url": "rtsp://10.0.0.99/sub"}})
    assert world.registry.get(GATE).source.credentials is None


async def test_wrong_registrations_are_refused_by_name(http: httpx2.AsyncClient) -> None:
    refused = [
        ({**NEW, "id": "Door"}, 422, "invalid_camera_id"),
        ({**NEW, "id": "gate"}, 409, "camera_exists"),
        ({**NEW, "zone": "Mars/Base"}, 422, "unknown_zone"),
        ({**NEW, "source": {"url": "http://x/"}}, 422, "source_refused"),
        ({**NEW, "source": {"url": ""}}, 422, "invalid_request"),
        ({**NEW, "password": "x"}, 422, "invalid_request"),
        ({"id": "door"}, 422, "invalid_request"),
        ({**NEW, "enabled": "yes"}, 422, "invalid_request"),
    ]
    for form, status, code in refused:
        reply = await http.post("/api/v1/cameras", json=form)
        assert (reply.status_code, reply.json()["code"]) == (status, code), form
    fields = (await http.post("/api/v1/cameras", json={"id": "door"})).json()["errors"]
    assert fields == [{"field": "source", "message": "Field required"}]


async def test_a_probe_shows_what_it_found_and_registers_nothing(
    http: httpx2.AsyncClient, world: World
) -> None:
    body = (await http.post("/api/v1/camera-probes", json={"source": {"url": "rtsp://h/x"}})).json()
    assert (body["ok"], body["codec"], body["width_px"]) == (True, "h264", 1280)
    assert body["picture"].startswith("data:image/jpeg;base64,")
    assert [camera.id for camera in world.registry.list()] == ["gate"]


class Gatekeeper:
    """Takes everybody for one who may only see the gate."""

    def principal(self, peer: Peer) -> Principal:
        return Principal("gatekeeper", Role.ADMIN, frozenset({GATE}))


async def test_lists_hold_only_what_the_caller_may_see(world: World) -> None:
    await world.add_camera(CameraId("door"))
    app = create_app(world.ports, world.settings, authenticator=Gatekeeper())
    async with (
        serving(app, world.settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
    ):
        assert [camera["id"] for camera in (await http.get("/api/v1/cameras")).json()["cameras"]] == ["gate"]
        assert (await http.get("/api/v1/cameras/door")).json()["code"] == "forbidden"
        assert (await http.post("/api/v1/cameras", json=NEW)).json()["code"] == "forbidden"
        asked = await http.post("/api/v1/ask", json={"text": "what?", "cameras": ["door"]})
        assert (asked.status_code, asked.json()["code"]) == (403, "forbidden")
        inherited = await http.post("/api/v1/ask", json={"text": "what?"})
        assert inherited.json()["code"] == "forbidden", "the asker chose the door, which is checked again"
