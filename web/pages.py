"""Routes that serve files: the page, and the documentation of the API with the assets it needs."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from web import wire
from web.errors import UnknownPath
from web.problems import MEDIA_TYPE
from web.replies import NEVER
from web.routes import OPENAI

PAGE_FOLDER = Path(__file__).parent / "static"

_DOCS_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>livelens API</title>
<link rel="icon" href="/docs/favicon.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
"""
_DOCS_START = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});
"""
_DOCS_FILES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon.png": "image/png",
}
_DAY = "private, max-age=86400"


def docs_folder() -> Path:
    """Return where Swagger UI lies; found without importing the package that carries it."""
    spec = find_spec("fastapi_offline")
    if spec is None or not spec.submodule_search_locations:
        raise UnknownPath
    return Path(spec.submodule_search_locations[0]) / "static"


class PageRoutes:
    """``/``, ``/docs``, ``/openapi.json``, and the page's files under every name that is left: goes in last."""

    def __init__(self, folder: Path = PAGE_FOLDER) -> None:
        self._files = StaticFiles(directory=folder, check_dir=False)
        self._app: FastAPI | None = None
        self._described: bytes | None = None

    def add_to(self, app: FastAPI) -> None:
        """Put the routes into ``app``."""
        self._app = app
        for path, endpoint in (
            ("/", self.page),
            ("/docs", self.docs),
            ("/docs/{name}", self.docs_file),
            ("/openapi.json", self.openapi),
            ("/{path:path}", self.file),
        ):
            app.add_route(path, endpoint, methods=["GET"], include_in_schema=False)

    async def page(self, request: Request) -> Response:
        """Serve the page."""
        return await self._file(request, "index.html")

    async def file(self, request: Request) -> Response:
        """Serve one of the page's files."""
        return await self._file(request, request.path_params["path"])

    async def _file(self, request: Request, path: str) -> Response:
        """Serve a file with its ETag; asked for anew each time, so that an update shows at once."""
        reply = await self._files.get_response(path, request.scope)
        reply.headers["Cache-Control"] = "private, no-cache"
        return reply

    async def docs(self, _request: Request) -> Response:
        """Serve the documentation of the API."""
        return HTMLResponse(_DOCS_PAGE, headers={"Cache-Control": NEVER})

    async def docs_file(self, request: Request) -> Response:
        """Serve an asset of the documentation."""
        name = request.path_params["name"]
        if name == "start.js":
            return Response(_DOCS_START, media_type="text/javascript", headers={"Cache-Control": _DAY})
        if name == "messages.json":
            return Response(
                json.dumps(wire.message_schema()),
                media_type="application/json",
                headers={"Cache-Control": NEVER},
            )
        if name not in _DOCS_FILES:
            raise UnknownPath
        return FileResponse(
            docs_folder() / name, media_type=_DOCS_FILES[name], headers={"Cache-Control": _DAY}
        )

    async def openapi(self, _request: Request) -> Response:
        """Serve the API's OpenAPI description."""
        if self._described is None:
            assert self._app is not None
            self._described = json.dumps(with_problem_type(self._app.openapi())).encode()
        return Response(self._described, media_type="application/json", headers={"Cache-Control": NEVER})


def with_problem_type(described: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI description whose problems have their own media type; the framework calls all JSON.

    Errors of OpenAI's shape are JSON indeed.

    ``Any`` is the form of such descriptions.
    """
    ours = (path for name, path in described["paths"].items() if not name.startswith(f"{OPENAI}/"))
    for operation in (operation for path in ours for operation in path.values()):
        content = operation["responses"]["default"]["content"]
        if "application/json" in content:
            content[MEDIA_TYPE] = content.pop("application/json")
    return described
