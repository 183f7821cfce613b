"""Frames that only their owner holds, asked for through Redis. Pure: what the messages look like.

    reader: ASK (script) -> RPUSH wanted <request>      nothing where the owner is not alive, or too many wait
    owner:  BLPOP wanted -> SET staged, LEND -> RPUSH reply <count>
    reader: BLPOP reply, at most 500 ms -> MGET

A request is JSON, checked by the owner: ``{"camera": ..., "life": ..., "times": [t_us, ...], "reply": token}``.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.ids import CameraId, Incarnation, InvalidCameraId, parse_camera_id
from featcache.codec import ForgedValue
from featcache.redis_keys import OwnerKeys
from featcache.redis_link import Command, evaluate
from featcache.redis_scripts import ASK

LIMIT_US = 500_000
"""How long a reader waits for an owner; what has not come by then is left out."""

_FRAMES = 128
_WAITING = 256
_LIMIT_BYTES = 16 * 1024
_TOKEN = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """Frames of one life that a reader wants, and where it waits for the answer (16 hex digits)."""

    camera_id: CameraId
    incarnation: Incarnation
    times_us: tuple[int, ...]
    reply: str


def ask(keys: OwnerKeys, request: Request) -> Command:
    """Return the command that asks; it answers ``asked``, ``away`` or ``busy``."""
    return evaluate(ASK, [keys.alive, keys.wanted], encode_request(request), LIMIT_US // 1000, _WAITING)


def encode_request(request: Request) -> bytes:
    """Return the request as it travels. What is over the most frames of one request is not asked for."""
    fields = {
        "camera": request.camera_id,
        "life": request.incarnation,
        "times": request.times_us[:_FRAMES],
        "reply": request.reply,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_request(value: bytes) -> Request:
    """Return a request, whoever wrote it. Raises ForgedValue("request")."""
    try:
        if len(value) > _LIMIT_BYTES:
            raise ValueError("too long")
        fields = json.loads(value)
        camera, life, times, reply = (fields[name] for name in ("camera", "life", "times", "reply"))
        if not (isinstance(camera, str) and isinstance(life, str) and isinstance(reply, str)):
            raise TypeError("a field is of another type")
        return Request(parse_camera_id(camera), Incarnation(life), _times(times), _token(reply))
    except (ValueError, KeyError, TypeError, RecursionError, InvalidCameraId):
        raise ForgedValue("request") from None


def _times(values: object) -> tuple[int, ...]:
    if not isinstance(values, Sequence) or not 1 <= len(values) <= _FRAMES:
        raise ValueError("too few or too many frames")
    if any(type(t_us) is not int or not 0 <= t_us < 1 << 60 for t_us in values):
        raise ValueError("not a time")
    return tuple(values)


def _token(text: str) -> str:
    if _TOKEN.fullmatch(text) is None:
        raise ValueError("not a token")
    return text
