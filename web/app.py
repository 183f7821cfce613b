"""The application: every route behind one gate."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI

from web import rest
from web.access import Authenticator, LoopbackOnly
from web.asking import AskRoute
from web.cameras import CameraRoutes
from web.chat import ChatRoutes
from web.gate import Gate
from web.health import HealthRoutes
from web.live import LiveRoute
from web.pages import PAGE_FOLDER, PageRoutes
from web.pictures import PictureRoutes
from web.ports import Ports
from web.problems import install
from web.settings import WebSettings
from web.streams import Stopping

_ABOUT = (
    "Ask live video, in words, about any moment that is still in the window. Times are RFC 3339 UTC with "
    "microseconds; errors are RFC 9457 problem documents with a stable `code`. "
    "The messages of the WebSocket `/api/v1/live` (subprotocol `livelens.v1`) are described in the project's "
    "docs/api.md, and as JSON Schema in [messages.json](/docs/messages.json)."
)


def create_app(
    ports: Ports,
    settings: WebSettings,
    *,
    version: str = "0",
    authenticator: Authenticator | None = None,
    stopping: Stopping | None = None,
    page_folder: Path = PAGE_FOLDER,
) -> FastAPI:
    """Return the application. Nothing runs yet, and nothing outside is touched.

    Args:
        version: livelens' version, as OpenAPI shows it.
        authenticator: Who is asking; by default this machine is the admin and nobody else gets in.
        stopping: Begun by the server when it stops, so that endless replies end; see ``web.server``.
        page_folder: Where the page's files lie.
    """
    stopping = stopping or Stopping()
    problem: dict[int | str, dict[str, Any]] = {
        "default": {"model": rest.ProblemView, "description": "Why not"}
    }
    app = FastAPI(
        title="livelens",
        version=version,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        responses=problem,
    )
    install(app)
    HealthRoutes(ports, stopping).add_to(app)
    CameraRoutes(ports).add_to(app)
    PictureRoutes(ports, settings, stopping).add_to(app)
    AskRoute(ports, settings, stopping).add_to(app)
    LiveRoute(ports, settings, stopping).add_to(app)
    ChatRoutes(ports, settings, stopping).add_to(app)
    PageRoutes(page_folder).add_to(app)
    app.state.stopping = stopping
    app.add_middleware(
        Gate,
        authenticator=authenticator or LoopbackOnly(),
        settings=settings,
        meter=ports.meter,
        clock=ports.clock,
    )
    return app
