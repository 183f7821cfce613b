import httpx2

from tests.support.web_fakes import World
from web.app import create_app
from web.streams import Stopping


async def test_being_alive_touches_nothing(world: World) -> None:
    world.readiness.working = {}
    transport = httpx2.ASGITransport(app=world.app(), client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        reply = await client.get("/healthz")
    assert (reply.status_code, reply.text) == (200, "ok\n")


async def test_readiness_names_the_part_that_is_missing(http: httpx2.AsyncClient, world: World) -> None:
    assert (await http.get("/readyz")).status_code == 200
    world.readiness.working["store"] = False
    reply = await http.get("/readyz")
    assert reply.status_code == 503
    assert reply.json() == {
        "ready": False,
        "parts": {"store": False, "window": True, "decoder": True},
        "details": {"store": "away"},
    }


async def test_a_stopping_server_is_not_ready(world: World) -> None:
    stopping = Stopping()
    app = create_app(world.ports, world.settings, stopping=stopping)
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        stopping.begin()
        assert (await client.get("/readyz")).status_code == 503


async def test_metrics_are_shown_in_prometheus_text_format(http: httpx2.AsyncClient) -> None:
    await http.get("/healthz")
    reply = await http.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'livelens_http_requests_total{method="GET",route="/healthz",status="200"} 1.0' in reply.text
