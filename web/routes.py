"""Everything that is served, in one table: method, path, and the action it takes to use it.

What is not in here is not reachable: the gate answers 404 before the framework is asked.
"""

import re
from dataclasses import dataclass, field

from web.access import Action

WEBSOCKET = "WEBSOCKET"
"""The method under which the table lists WebSocket handshakes."""

API = "/api/v1"

OPENAI = "/v1"
"""Where clients of OpenAI's find what they know."""


@dataclass(frozen=True, slots=True)
class Route:
    """One thing served.

    Attributes:
        path: With ``{name}`` for one segment and ``{name:path}`` for the rest.
        endless: The reply lasts as long as somebody reads, so that HEAD makes no sense.
        any_host: Served under every Host header; for probes that know only an address.
        fallback: Files of the page, under any name that nothing else has; not there for other methods.
        pictures: Its body may carry pictures, and be as large as they are.
    """

    method: str
    path: str
    action: Action
    endless: bool = False
    any_host: bool = False
    fallback: bool = False
    pictures: bool = False
    pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", re.compile(_regex(self.path)))


@dataclass(frozen=True, slots=True)
class Found:
    """A route that fits a request, with the values in its path."""

    route: Route
    values: dict[str, str]


def _regex(path: str) -> str:
    parts = re.split(r"(\{\w+(?::path)?\})", path)
    return "".join(
        (f"(?P<{part[1:-1].split(':')[0]}>{'.*' if part.endswith(':path}') else '[^/]+'})")
        if part.startswith("{")
        else re.escape(part)
        for part in parts
    )


TABLE: tuple[Route, ...] = (
    Route("GET", "/", Action.PAGE),
    Route("GET", "/healthz", Action.HEALTH, any_host=True),
    Route("GET", "/readyz", Action.HEALTH, any_host=True),
    Route("GET", "/metrics", Action.METRICS),
    Route("GET", "/docs", Action.DOCS),
    Route("GET", "/docs/{name}", Action.DOCS),
    Route("GET", "/openapi.json", Action.DOCS),
    Route("GET", f"{API}/cameras", Action.LIST),
    Route("POST", f"{API}/cameras", Action.MANAGE),
    Route("GET", f"{API}/cameras/{{camera_id}}", Action.VIEW),
    Route("PATCH", f"{API}/cameras/{{camera_id}}", Action.MANAGE),
    Route("DELETE", f"{API}/cameras/{{camera_id}}", Action.MANAGE),
    Route("POST", f"{API}/camera-probes", Action.MANAGE),
    Route("GET", f"{API}/cameras/{{camera_id}}/latest.jpg", Action.VIEW),
    Route("GET", f"{API}/cameras/{{camera_id}}/preview.mjpeg", Action.VIEW, endless=True),
    Route("GET", f"{API}/cameras/{{camera_id}}/frames", Action.VIEW),
    Route("GET", f"{API}/cameras/{{camera_id}}/frames/{{t_us}}.jpg", Action.VIEW),
    Route("GET", f"{API}/cameras/{{camera_id}}/timeline", Action.VIEW),
    Route("POST", f"{API}/ask", Action.ASK, endless=True),
    Route(WEBSOCKET, f"{API}/live", Action.LIVE, endless=True),
    Route("POST", f"{OPENAI}/chat/completions", Action.CHAT, endless=True, pictures=True),
    Route("GET", f"{OPENAI}/models", Action.CHAT),
    Route("GET", f"{OPENAI}/models/{{model:path}}", Action.CHAT),
    Route("GET", "/{path:path}", Action.PAGE, fallback=True),
)


def find(method: str, path: str, table: tuple[Route, ...] = TABLE) -> Found | tuple[str, ...]:
    """Return the route for a request, or the methods that its path takes: none where there is no such path.

    HEAD is served wherever GET is, but for endless replies.
    """
    allowed: list[str] = []
    for route in table:
        match = route.pattern.fullmatch(path)
        if match is None:
            continue
        headed = route.method == "GET" and not route.endless
        if method == route.method or (method == "HEAD" and headed):
            if route.fallback and allowed:
                break
            return Found(route, match.groupdict())
        if route.fallback:
            continue
        allowed += [route.method, "HEAD"] if headed else [route.method]
    return tuple(sorted(set(allowed)))
