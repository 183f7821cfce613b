"""Routes that show what a camera sees and saw: pictures, preview, samples and the timeline."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, cast

from fastapi import FastAPI, Header, Query
from starlette.responses import Response

from core.ids import CameraId
from web import rest
from web.accept import parse_span
from web.errors import NoPictureYet, TooManyViewers, UnknownFrame
from web.ports import Ports
from web.present import frame_views, timeline_view
from web.replies import FOR_EVER, json_reply, picture_reply
from web.routes import API
from web.settings import WebSettings
from web.streams import Places, Stopping, StreamReply

BOUNDARY = "livelens-picture"
_DEFAULT_TIMELINE_S = 600.0

From = Annotated[str | None, Query(alias="from", max_length=40)]
To = Annotated[str | None, Query(max_length=40)]
LastSeconds = Annotated[float | None, Query()]
KnownTag = Annotated[str | None, Header(alias="if-none-match")]


class PictureRoutes:
    """Everything below ``/cameras/{camera_id}/`` that is seen."""

    def __init__(self, ports: Ports, settings: WebSettings, stopping: Stopping) -> None:
        self._ports = ports
        self._settings = settings
        self._stopping = stopping
        self._viewers = Places(settings.max_viewers, TooManyViewers)

    def add_to(self, app: FastAPI) -> None:
        """Put the routes into ``app``."""
        add = partial(app.add_api_route, tags=["Pictures and memory"])
        one = f"{API}/cameras/{{camera_id}}"
        jpeg = _of_type("image/jpeg", "A JPEG picture")
        multipart = _of_type("multipart/x-mixed-replace", "JPEG pictures")
        add(f"{one}/latest.jpg", self.latest, methods=["GET"], response_class=Response, responses=jpeg)
        add(
            f"{one}/preview.mjpeg",
            self.preview,
            methods=["GET"],
            response_class=Response,
            responses=multipart,
        )
        add(f"{one}/frames", self.frames, methods=["GET"], response_model=rest.FrameListView)
        add(
            f"{one}/frames/{{t_us}}.jpg",
            self.frame,
            methods=["GET"],
            response_class=Response,
            responses=jpeg,
        )
        add(f"{one}/timeline", self.timeline, methods=["GET"], response_model=rest.TimelineView)

    async def latest(self, camera_id: str, known: KnownTag = None) -> Response:
        """Show the newest picture, at most 640 px wide."""
        camera = self._ports.registry.get(CameraId(camera_id))
        jpeg = await self._ports.preview.latest(camera.id)
        if jpeg is None:
            raise NoPictureYet
        return picture_reply(jpeg, known=known, cache="private, no-cache")

    async def preview(self, camera_id: str) -> Response:
        """Show the camera live: JPEG pictures in a multipart reply, at most 5 a second, until closed."""
        camera = self._ports.registry.get(CameraId(camera_id))
        return StreamReply(
            self._parts(camera.id),
            media_type=f"multipart/x-mixed-replace; boundary={BOUNDARY}",
            stopping=self._stopping,
            stall_timeout_s=self._settings.stall_timeout_s,
            places=self._viewers,
        )

    async def _parts(self, camera_id: CameraId) -> AsyncGenerator[bytes]:
        # The port promises an iterator; all that we know of are generators, which aclosing needs.
        pictures = cast(AsyncGenerator[bytes], self._ports.preview.watch(camera_id))
        async with aclosing(pictures):
            async for jpeg in pictures:
                yield multipart_part(jpeg)

    async def frames(
        self,
        camera_id: str,
        start: From = None,
        to: To = None,
        last_s: LastSeconds = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    ) -> Response:
        """List the samples of a span, oldest first; over the limit the newest of them."""
        camera = self._ports.registry.get(CameraId(camera_id))
        span = parse_span(start, to, last_s, now_us=self._ports.clock.now_us())
        infos = await self._ports.window.index(camera.id, span)
        return json_reply(rest.FrameListView(frames=frame_views(infos[-limit:], span, camera.zone)))

    async def frame(self, camera_id: str, t_us: str, known: KnownTag = None) -> Response:
        """Show the picture of the sample at exactly this stream time; it never changes."""
        camera = self._ports.registry.get(CameraId(camera_id))
        if re.fullmatch(r"\d{1,17}", t_us, re.ASCII) is None:
            raise UnknownFrame
        stored = await self._ports.window.at(camera.id, int(t_us))
        if stored is None:
            raise UnknownFrame
        return picture_reply(stored.jpeg, known=known, cache=FOR_EVER)

    async def timeline(
        self, camera_id: str, start: From = None, to: To = None, last_s: LastSeconds = None
    ) -> Response:
        """Show what is remembered of a span: samples, motion, unchanged spans, gaps, tracks."""
        camera = self._ports.registry.get(CameraId(camera_id))
        now_us = self._ports.clock.now_us()
        span = parse_span(start, to, last_s, now_us=now_us, default_s=_DEFAULT_TIMELINE_S)
        head = await self._ports.window.head(camera.id)
        infos = await self._ports.window.index(camera.id, span)
        records = await self._ports.window.records(camera.id, span)
        return json_reply(
            timeline_view(
                camera,
                span,
                infos,
                records,
                head=head,
                now_us=now_us,
                limit=self._settings.timeline_samples,
                retention_us=self._ports.retention_us,
            )
        )


def _of_type(media_type: str, description: str) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says of a reply that is no JSON. ``Any`` is the framework's own type for it."""
    return {200: {"content": {media_type: {}}, "description": description}}


def multipart_part(jpeg: bytes) -> bytes:
    """Return one picture as a part of the preview."""
    head = f"Content-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
    return b"".join((f"--{BOUNDARY}\r\n{head}".encode(), jpeg, b"\r\n"))
