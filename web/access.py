"""Who may do what. Pure: the same question always gets the same answer.

Keys come later; until then there are two people: the one at this machine, who may do everything, and
everybody else, who may only see that the server lives.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from core.ids import CameraId


class Action(StrEnum):
    """What a route, message or command does."""

    HEALTH = "health"  # learn whether the server lives and is ready
    METRICS = "metrics"
    PAGE = "page"  # load the page and its files
    DOCS = "docs"
    LIST = "list"  # list cameras, of which only those that may be viewed are shown
    VIEW = "view"  # see a camera's state, pictures and timeline
    ASK = "ask"
    CHAT = "chat"  # show pictures of one's own to the model
    LIVE = "live"  # open a session; what is done in it is asked again
    MANAGE = "manage"  # register, change, delete and probe cameras


class Role(StrEnum):
    """A named set of actions."""

    ADMIN = "admin"
    VIEWER = "viewer"
    NOBODY = "nobody"


_ACTIONS: Mapping[Role, frozenset[Action]] = {
    Role.ADMIN: frozenset(Action),
    Role.VIEWER: frozenset(
        {
            Action.HEALTH,
            Action.PAGE,
            Action.DOCS,
            Action.LIST,
            Action.VIEW,
            Action.ASK,
            Action.CHAT,
            Action.LIVE,
        }
    ),
    Role.NOBODY: frozenset({Action.HEALTH}),
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking. ``cameras`` limits them to some cameras; None means all there are."""

    name: str
    role: Role
    cameras: frozenset[CameraId] | None = None


LOCAL_ADMIN = Principal("local", Role.ADMIN)
NOBODY = Principal("nobody", Role.NOBODY)


def may(principal: Principal, action: Action, camera_id: CameraId | None = None) -> bool:
    """Return whether ``principal`` may do ``action``, to ``camera_id`` where one camera is meant."""
    if action not in _ACTIONS[principal.role]:
        return False
    if principal.cameras is None:
        return True
    if camera_id is None:
        return action is not Action.MANAGE  # probing reaches any address: not for those bound to some cameras
    return camera_id in principal.cameras


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection. ``host`` is its address, None where the server was not told.

    ``headers`` has lower-case names; of repeated ones the last.
    """

    host: str | None
    headers: Mapping[str, str]


class Authenticator(Protocol):
    """Finds out who a peer is."""

    def principal(self, peer: Peer) -> Principal:
        """Return who it is; ``NOBODY`` where nothing shows it."""


class LoopbackOnly:
    """Until keys exist: this machine is the admin, everybody else nobody.

    A request that came through a proxy is somebody else's, whoever the proxy is.
    """

    _FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

    def principal(self, peer: Peer) -> Principal:
        if any(name in peer.headers for name in self._FORWARDED):
            return NOBODY
        return LOCAL_ADMIN if is_loopback(peer.host) else NOBODY


def is_loopback(host: str | None) -> bool:
    """Return whether an address is this machine's own."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def host_allowed(host_header: str | None, allowed: Iterable[str]) -> bool:
    """Return whether a Host header names this server, so that a rebound DNS name cannot reach it."""
    try:
        name = urlsplit(f"//{host_header or ''}").hostname
    except ValueError:
        return False
    if not name:
        return False
    return name == "localhost" or is_loopback(name) or name in {host.lower() for host in allowed}


def origin_allowed(origin: str | None, host_header: str | None, allowed: Iterable[str]) -> bool:
    """Return whether a page of ``origin`` may act here: none (no browser), our own, or a listed one."""
    if origin is None:
        return True
    if origin.lower() in {listed.lower().rstrip("/") for listed in allowed}:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    # Browsers leave default ports out of both, so that the two texts compare as they are.
    return (
        parts.scheme in ("http", "https")
        and bool(parts.netloc)
        and parts.netloc.lower() == (host_header or "").lower()
    )


def fetch_allowed(site: str | None, mode: str | None, allowed: Iterable[str]) -> bool:
    """Return whether a browser fetches this for a page of ours, or because somebody followed a link to it.

    Without it, any page could hold places by showing our previews as its pictures, which carry no origin.
    Where other origins are listed, nothing can be told, and their pages' pictures are let through.

    Args:
        site, mode: The request's Sec-Fetch-Site and Sec-Fetch-Mode; None from programs.
        allowed: The listed origins.
    """
    return site in (None, "same-origin", "none") or mode == "navigate" or any(True for _ in allowed)
