"""Good replies: JSON from a wire form, and pictures that a browser may keep."""

import hashlib
from collections.abc import Mapping

from pydantic import BaseModel
from starlette.responses import Response

from web import wire

FOR_EVER = "private, max-age=31536000, immutable"
NEVER = "no-store"


def json_reply(view: BaseModel, status: int = 200, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a wire form as JSON; never kept by anybody between."""
    return Response(
        wire.to_json(view),
        status,
        headers={"Cache-Control": NEVER, **(headers or {})},
        media_type="application/json",
    )


def picture_reply(jpeg: bytes, *, known: str | None, cache: str) -> Response:
    """Return a JPEG under a strong ETag of its bytes, or 304 where the client has it already.

    Args:
        known: The request's If-None-Match.
        cache: The reply's Cache-Control.
    """
    etag = f'"{hashlib.blake2b(jpeg, digest_size=12).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": cache}
    if matches(known, etag):
        return Response(status_code=304, headers=headers)
    return Response(jpeg, headers=headers, media_type="image/jpeg")


def matches(known: str | None, etag: str) -> bool:
    """Return whether an If-None-Match names ``etag``; a weak name of the same thing counts (RFC 9110, 13.1.2)."""
    if known is None:
        return False
    named = {part.strip().removeprefix("W/") for part in known.split(",")}
    return etag in named or "*" in named
