import asyncio
import socket

import httpx2
import pytest

from tests.support.web_fakes import World
from web.server import Server, listen, uvicorn_options
from web.settings import WebSettings


def test_uvicorn_gets_our_limits() -> None:
    options = uvicorn_options(WebSettings(ping_interval_s=7, refused_message_bytes=5 << 20))
    assert options["ws_max_size"] == 5 << 20
    assert options["ws_ping_interval"] == 7
    assert options["proxy_headers"] is False


def test_a_taken_address_is_an_error_and_leaves_no_socket() -> None:
    with listen("127.0.0.1", 0) as first, pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a Linux option")
def test_connections_inherit_the_kernels_patience() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000


async def test_a_server_tells_the_application_that_it_stops(world: World) -> None:
    app = world.app()
    with listen("127.0.0.1", 0) as listener:
        server = Server(app, world.settings)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            async with httpx2.AsyncClient() as client:
                url = f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"
                assert (await client.get(url)).status_code == 200
            server.should_exit = True
    assert app.state.stopping.begun
