"""The gate in front of the application: whatever arrives is admitted here, or nowhere.

In this order: who is it, which of our names was meant, is it in the table of routes, whose page sent it, may
they do it, is the body small enough. Replies leave through here too, with the headers every reply has.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.clock import Clock
from core.errors import ServiceError
from core.ids import CameraId, parse_camera_id
from core.meter import Meter, Metric
from web.access import (
    Action,
    Authenticator,
    Peer,
    Principal,
    Role,
    fetch_allowed,
    host_allowed,
    may,
    origin_allowed,
)
from web.chat_bodies import HeldBodies, Hold
from web.errors import (
    BodyTimeout,
    BodyTooLarge,
    Forbidden,
    ForeignOrigin,
    HostNotAllowed,
    KeysRequired,
    MethodNotAllowed,
    TooManyUploads,
    UnknownPath,
)
from web.problems import problem, refusal
from web.routes import TABLE, WEBSOCKET, Route, find
from web.settings import WebSettings

logger = logging.getLogger(__name__)

PRINCIPAL = "livelens.principal"
"""Where the connection's scope carries the principal."""

REFUSE = "livelens.refuse"
"""Where a WebSocket's scope carries what refuses its handshake: called with the error and awaited."""

_GOODBYE_S = 1.0
_SAFE = frozenset({"GET", "HEAD"})
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# The documentation page's library sets style attributes; scripts stay as strict.
_DOCS_POLICY = _PAGE_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
_HEADERS: Mapping[bytes, bytes] = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"geolocation=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that may go on. ``route`` is its row of the table."""

    route: Route
    principal: Principal


def admit(
    method: str,
    path: str,
    peer: Peer,
    *,
    authenticator: Authenticator,
    settings: WebSettings,
    table: tuple[Route, ...] = TABLE,
) -> Admitted:
    """Return who asks for what, or refuse. Pure.

    Raises:
        KeysRequired, HostNotAllowed, UnknownPath, MethodNotAllowed, ForeignOrigin, Forbidden,
        InvalidCameraId: why it goes no further.
    """
    found = find(method, path, table)
    principal = authenticator.principal(peer)
    if principal.role is Role.NOBODY and (isinstance(found, tuple) or found.route.action != Action.HEALTH):
        raise KeysRequired
    host = peer.headers.get("host")
    any_host = not isinstance(found, tuple) and found.route.any_host
    if not any_host and not host_allowed(host, settings.allowed_hosts):
        raise HostNotAllowed
    if isinstance(found, tuple):
        raise MethodNotAllowed(found) if found else UnknownPath
    if _foreign(method, peer.headers, settings):
        raise ForeignOrigin
    camera_id = _camera_id(found.values)
    if not may(principal, found.route.action, camera_id):
        raise Forbidden(found.route.action)
    return Admitted(found.route, principal)


def _foreign(method: str, headers: Mapping[str, str], settings: WebSettings) -> bool:
    """Return whether a page of another origin is behind the request."""
    site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
    if method in _SAFE:
        return not fetch_allowed(site, mode, settings.allowed_origins)
    return not origin_allowed(headers.get("origin"), headers.get("host"), settings.allowed_origins)


def _camera_id(values: Mapping[str, str]) -> CameraId | None:
    return parse_camera_id(values["camera_id"]) if "camera_id" in values else None


class Gate:
    """An ASGI application around another one."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        settings: WebSettings,
        meter: Meter,
        clock: Clock,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._settings = settings
        self._meter = meter
        self._clock = clock
        self._bodies = HeldBodies(settings.chat_bodies_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began_us = self._clock.mono_us()
        reply = _Reply(send, scope, self._clock)
        admitted: Admitted | None = None
        try:
            admitted = self._admit(scope["method"], scope)
            with self._bodies.hold() as hold:
                whole = await self._whole_body(scope, receive, admitted.route, hold)
                inner = {**scope, PRINCIPAL: admitted.principal}
                if scope["method"] == "HEAD":
                    inner["method"] = "GET"
                await self._app(inner, whole, reply.send)
        except ServiceError as error:
            await reply.refuse(error, receive)
        except Exception:
            # The request edge: whatever it was, the server goes on and the log has the traceback.
            logger.exception("request failed", extra={"path": scope["path"]})
            await reply.refuse(ServiceError(), receive)
        finally:
            self._measure(admitted, scope["method"], reply, began_us)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            admitted = self._admit(WEBSOCKET, scope)
        except ServiceError as error:
            await refuse_handshake(error, scope=scope, receive=receive, send=send)
            return
        refuse = partial(refuse_handshake, scope=scope, receive=receive, send=send)
        await self._app({**scope, PRINCIPAL: admitted.principal, REFUSE: refuse}, receive, send)

    def _admit(self, method: str, scope: Scope) -> Admitted:
        client = scope.get("client")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        return admit(
            method,
            scope["path"],
            Peer(client[0] if client else None, headers),
            authenticator=self._authenticator,
            settings=self._settings,
        )

    async def _whole_body(self, scope: Scope, receive: Receive, route: Route, hold: Hold) -> Receive:
        """Read the body, at most so much of it, before anybody parses; return a ``receive`` that repeats it.

        ``hold`` counts the bytes of those that may be large.
        """
        if scope["method"] in _SAFE:
            return receive
        limit, timeout_s, most_bytes = self._body_limits(route)
        body = bytearray()
        more = True
        seen_bytes = 0
        refused: ServiceError | None = None
        try:
            async with asyncio.timeout(timeout_s):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _Repeat(message, receive)
                    chunk = message.get("body", b"")
                    more = message.get("more_body", False)
                    seen_bytes += len(chunk)
                    if seen_bytes > limit:
                        refused = BodyTooLarge(limit)
                    elif route.pictures and refused is None:
                        refused = _counted(hold, len(chunk))
                    if refused is None:
                        body += chunk
                    else:
                        # The rest is read and dropped: a client cut off while it sends never reads the reply.
                        body.clear()
                        hold.release()
                        more = more and seen_bytes <= most_bytes
        except TimeoutError:
            raise BodyTimeout from None
        if refused is not None:
            raise refused
        return _Repeat({"type": "http.request", "body": bytes(body), "more_body": False}, receive)

    def _body_limits(self, route: Route) -> tuple[int, float, int]:
        """Return how large a route's bodies may be, how long they may take, and how much is read in order to refuse."""
        settings = self._settings
        if not route.pictures:
            return settings.max_body_bytes, settings.body_timeout_s, settings.refused_message_bytes
        limit = settings.max_chat_body_bytes
        return limit, settings.chat_body_timeout_s, max(2 * limit, settings.refused_message_bytes)

    def _measure(self, admitted: Admitted | None, method: str, reply: "_Reply", began_us: int) -> None:
        route = admitted.route.path if admitted else "refused"
        known = method if method in {"GET", "HEAD", "POST", "PATCH", "DELETE"} else "other"
        self._meter.count(Metric.HTTP_REQUESTS, route=route, method=known, status=str(reply.status))
        endless = admitted is not None and admitted.route.endless and reply.status != 0
        ended_us = reply.began_us if endless else self._clock.mono_us()
        seconds = (ended_us - began_us) / 1e6
        self._meter.observe(Metric.HTTP_SECONDS, seconds, route=route)


def _counted(hold: Hold, size_bytes: int) -> ServiceError | None:
    """Count bytes of a body; return why they cannot be held, if they cannot."""
    try:
        hold.grow(size_bytes)
    except TooManyUploads as error:
        return error
    return None


class _Repeat:
    """A ``receive`` that gives one message first."""

    def __init__(self, first: Message, receive: Receive) -> None:
        self._first: Message | None = first
        self._receive = receive

    async def __call__(self) -> Message:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        return await self._receive()


class _Reply:
    """A ``send`` that adds our headers, and leaves the body out where only the head was asked for."""

    def __init__(self, send: Send, scope: Scope, clock: Clock) -> None:
        self._send = send
        self._scope = scope
        self._clock = clock
        self.status = 0
        self.began_us = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.began_us = self._clock.mono_us()
            docs = self._scope["path"].startswith("/docs")
            names = {name.lower() for name, _ in message.get("headers", ())}
            ours = {**_HEADERS, b"content-security-policy": (_DOCS_POLICY if docs else _PAGE_POLICY).encode()}
            added = [(name, value) for name, value in ours.items() if name not in names]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        elif message["type"] == "http.response.body" and self._scope["method"] == "HEAD":
            message = {**message, "body": b""}
        await self._send(message)

    async def refuse(self, error: ServiceError, receive: Receive) -> None:
        """Answer with a problem, unless an answer has begun."""
        if self.status == 0:
            await refusal(error, self._scope["path"])(self._scope, receive, self.send)


async def refuse_handshake(error: ServiceError, *, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket before it opens: with a problem document where the server can, else with a bare 403."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    reply = problem(error)
    headers = [(name, value) for name, value in reply.raw_headers if name != b"content-length"]
    await send({"type": "websocket.http.response.start", "status": reply.status_code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": reply.body, "more_body": False})
    # uvicorn takes the handshake for forgotten if we return before its connection is closed.
    try:
        async with asyncio.timeout(_GOODBYE_S):
            for _ in range(2):
                while (await receive())["type"] != "websocket.disconnect":
                    pass
    except TimeoutError:
        logger.debug("refused client keeps its connection")
