import re
from collections.abc import Iterator

import httpx2
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route, WebSocketRoute

from tests.support.web_fakes import World
from web.routes import TABLE, WEBSOCKET


def walk(routes: list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Yield method and path of everything the framework would serve, however it nests its routes."""
    for route in routes:
        match route:
            case APIRoute() | Route():
                yield from ((method, route.path) for method in route.methods or ())
            case WebSocketRoute():
                yield WEBSOCKET, route.path
            case _:
                inner = getattr(route, "routes", None)
                assert inner, f"a route of a kind this test does not know: {route!r}"
                yield from walk(list(inner))


async def test_the_table_and_the_application_serve_the_same(world: World) -> None:
    served = {pair for pair in walk(world.app().routes) if pair[0] != "HEAD"}
    listed = {(route.method, route.path) for route in TABLE}
    assert served - listed == set(), "served, but not in the table of routes: the gate will refuse it"
    assert listed - served == set(), "in the table of routes, but not served"


async def test_a_route_that_is_not_in_the_table_cannot_be_reached(world: World) -> None:
    app = world.app()

    @app.post("/api/v1/forgotten")
    async def forgotten() -> str:
        return "open"

    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.post("/api/v1/forgotten")).status_code == 404


async def test_another_machine_is_refused_everywhere_but_for_health(world: World) -> None:
    transport = httpx2.ASGITransport(app=world.app(), client=("10.0.0.9", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for route in TABLE:
            if route.method == WEBSOCKET:
                continue
            path = re.sub(r"\{camera_id\}", "gate", route.path)
            path = re.sub(r"\{[^}]+\}", "1", path)
            reply = await client.request(route.method, path)
            expected = 200 if path in ("/healthz", "/readyz") else 403
            assert reply.status_code == expected, path


async def test_openapi_describes_every_rest_route_and_its_problems(http: httpx2.AsyncClient) -> None:
    described = (await http.get("/openapi.json")).json()
    assert described["openapi"].startswith("3.1")
    paths = described["paths"]
    for route in TABLE:
        if route.path.startswith("/api/v1") and route.method != WEBSOCKET:
            operation = paths[route.path][route.method.lower()]
            assert "default" in operation["responses"], route.path
            assert operation.get("summary")
    assert paths["/api/v1/cameras"]["post"]["responses"]["201"]
    assert described["info"]["version"] == "1.2.3"


async def post(http: httpx2.AsyncClient, body: bytes) -> httpx2.Response:
    return await http.post("/api/v1/ask", content=body, headers={"content-type": "application/json"})


async def test_errors_of_every_sort_are_problem_documents(http: httpx2.AsyncClient) -> None:
    asked = [
        (await http.get("/nothing"), 404, "unknown_path"),
        (await http.put("/api/v1/cameras"), 405, "method_not_allowed"),
        (await http.get("/api/v1/cameras/"), 404, "unknown_path"),
        (
            await http.post("/api/v1/ask", content=b"{", headers={"content-type": "application/json"}),
            400,
            "malformed_json",
        ),
        (await post(http, b"[" * 100_000), 400, "malformed_json"),
        (await post(http, b'{"text":"\xff"}'), 400, "malformed_json"),
        (await post(http, b'{"text":"\\ud800"}'), 422, "invalid_request"),
        (await http.post("/api/v1/ask", json={"text": 5}), 422, "invalid_request"),
        (await http.post("/api/v1/ask", json=[]), 422, "invalid_request"),
        (await http.post("/api/v1/ask"), 422, "invalid_request"),
        (
            await http.post("/api/v1/ask", content=b'{"text":"a"}', headers={"content-type": "text/plain"}),
            422,
            "invalid_request",
        ),
        (await http.get("/api/v1/cameras/gate/frames?limit=0&last_s=1"), 422, "invalid_request"),
        (await http.get("/api/v1/cameras/Gate"), 422, "invalid_camera_id"),
        (await http.get("/api/v1/cameras/none"), 404, "unknown_camera"),
        (await http.get("/css/../../../etc/passwd"), 404, "unknown_path"),
        (await http.get("/%2e%2e/%2e%2e/app.py"), 404, "unknown_path"),
    ]
    for reply, status, code in asked:
        assert (reply.status_code, reply.json()["code"]) == (status, code), reply.request.url
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["status"] == status
    assert asked[1][0].headers["allow"] == "GET, HEAD, POST"
