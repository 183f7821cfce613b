"""The edges: REST, WebSocket and server-sent events, health, metrics, and the page. One gate in front of all of it.

Who asks, whether they may, what fits and what travels is decided here; what cameras do, what the window holds and
what is answered is asked of ``web.ports``. Served by uvicorn on loopback unless told otherwise.

    HTTP or WebSocket -> gate (who, host, route, origin, may, size) -> wire forms -> ports
    Camera, StoredFrame, Answer -> present -> wire forms -> JSON, JPEG, SSE, messages with seq
    ServiceError -> problem document or error message, by code
"""

from web.access import Action, Authenticator, LoopbackOnly, Principal, Role, may
from web.app import create_app
from web.metrics import ExportedMeter
from web.ports import Ports
from web.server import Server, listen, uvicorn_options
from web.settings import WebSettings
from web.streams import Stopping

__all__ = [
    "Action",
    "Authenticator",
    "ExportedMeter",
    "LoopbackOnly",
    "Ports",
    "Principal",
    "Role",
    "Server",
    "Stopping",
    "WebSettings",
    "create_app",
    "listen",
    "may",
    "uvicorn_options",
]
