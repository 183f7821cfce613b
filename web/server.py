"""How the application is served: uvicorn's options, the listening socket, and a stop that ends endless replies."""

import socket
from typing import Any, cast

import uvicorn
from fastapi import FastAPI

from web.settings import WebSettings
from web.streams import Stopping

_BACKLOG = 256
_SILENT_PEER_MS = 30_000


def uvicorn_options(settings: WebSettings) -> dict[str, Any]:
    """Return the options livelens needs of uvicorn, for ``uvicorn.Config(app, **options)``.

    The values are of uvicorn's own mixed types. Forwarded addresses are not believed: who came through a
    proxy is nobody until keys exist. Compression is off, as tokens are small and each connection would hold
    300 kB for it.
    """
    return {
        "ws_max_size": settings.refused_message_bytes,
        "ws_ping_interval": settings.ping_interval_s,
        "ws_ping_timeout": settings.ping_timeout_s,
        "ws_per_message_deflate": False,
        "proxy_headers": False,
        "server_header": False,
        "access_log": False,
        "log_config": None,
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_s)),
        "lifespan": "off",
    }


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    A peer that vanished, or takes nothing for 30 s, is cut off by the kernel: uvicorn itself waits for ever
    for what it has buffered.

    Raises:
        OSError: the address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENT_PEER_MS)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


class Server(uvicorn.Server):
    """uvicorn, that tells the application first when it stops. Run it with ``serve(sockets=[listen(...)])``."""

    def __init__(self, app: FastAPI, settings: WebSettings) -> None:
        super().__init__(uvicorn.Config(app, **uvicorn_options(settings)))
        self._stopping = cast(Stopping, app.state.stopping)  # state is untyped by the framework

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End endless replies, then close as uvicorn does."""
        self._stopping.begin()
        await super().shutdown(sockets)
