"""Routes that register, show, change and remove cameras, and probe sources."""

import logging
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import Depends, FastAPI
from starlette.requests import HTTPConnection
from starlette.responses import Response

from core.cameras import Camera
from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, parse_camera_id
from featcache.window import Head
from web import rest
from web.accept import parse_source_form, parse_zone
from web.access import Action, Principal, may
from web.errors import Forbidden
from web.gate import PRINCIPAL
from web.ports import CameraPatch, NewCamera, Ports
from web.present import camera_view, probe_view
from web.replies import json_reply
from web.routes import API

logger = logging.getLogger(__name__)


async def principal_of(connection: HTTPConnection) -> Principal:
    """Return who the gate says is asking."""
    principal = connection.scope[PRINCIPAL]
    assert isinstance(principal, Principal)
    return principal


Caller = Annotated[Principal, Depends(principal_of)]


class CameraRoutes:
    """``/cameras`` and ``/camera-probes``."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def add_to(self, app: FastAPI) -> None:
        """Put the routes into ``app``."""
        add = partial(app.add_api_route, tags=["Cameras"])
        one = f"{API}/cameras/{{camera_id}}"
        add(f"{API}/cameras", self.list_cameras, methods=["GET"], response_model=rest.CameraListView)
        add(
            f"{API}/cameras",
            self.register_camera,
            methods=["POST"],
            response_model=rest.CameraView,
            status_code=201,
        )
        add(one, self.show_camera, methods=["GET"], response_model=rest.CameraView)
        add(one, self.change_camera, methods=["PATCH"], response_model=rest.CameraView)
        add(one, self.remove_camera, methods=["DELETE"], response_model=rest.DeletedView)
        add(f"{API}/camera-probes", self.probe_source, methods=["POST"], response_model=rest.ProbeView)

    async def list_cameras(self, caller: Caller) -> Response:
        """List the cameras that the caller may view, by id."""
        views: list[rest.CameraView] = []
        for camera in self._ports.registry.list():
            if may(caller, Action.VIEW, camera.id):
                try:
                    views.append(await self._view(camera))
                except ServiceError as error:
                    if error.kind is not ErrorKind.NOT_FOUND:  # removed while we looked at another
                        raise
        return json_reply(rest.CameraListView(cameras=views))

    async def register_camera(self, form: rest.NewCameraForm, caller: Caller) -> Response:
        """Register a camera and start it."""
        camera_id = parse_camera_id(form.id)
        if not may(caller, Action.MANAGE, camera_id):
            raise Forbidden(Action.MANAGE)
        camera = await self._ports.registry.add(
            NewCamera(
                id=camera_id,
                name=form.name or camera_id,
                source=parse_source_form(form.source, self._ports.parse_source),
                zone=parse_zone(form.zone) if form.zone else self._ports.default_zone,
                enabled=form.enabled,
            )
        )
        logger.info("camera registered", extra={"camera": camera.id, "by": caller.name})
        location = f"{API}/cameras/{camera.id}"
        return json_reply(await self._view(camera), 201, headers={"Location": location})

    async def show_camera(self, camera_id: str) -> Response:
        """Show one camera."""
        return json_reply(await self._view(self._ports.registry.get(CameraId(camera_id))))

    async def change_camera(self, camera_id: str, form: rest.CameraPatchForm, caller: Caller) -> Response:
        """Change what is named. A changed source is connected anew; a password is kept unless one is sent."""
        current = self._ports.registry.get(CameraId(camera_id))
        patch = CameraPatch(name=form.name, enabled=form.enabled)
        if form.zone is not None:
            patch = replace(patch, zone=parse_zone(form.zone))
        if form.source is not None:
            source = parse_source_form(form.source, self._ports.parse_source, current=current.source)
            patch = replace(patch, source=source)
        camera = await self._ports.registry.update(current.id, patch)
        logger.info("camera changed", extra={"camera": camera.id, "by": caller.name})
        return json_reply(await self._view(camera))

    async def remove_camera(self, camera_id: str, caller: Caller) -> Response:
        """Stop a camera and delete every trace of it; says how many frames went."""
        deleted = await self._ports.registry.remove(CameraId(camera_id))
        logger.info("camera removed", extra={"camera": camera_id, "by": caller.name, "frames": deleted})
        return json_reply(rest.DeletedView(deleted_frames=deleted))

    async def probe_source(self, form: rest.ProbeForm) -> Response:
        """Look at a source without registering it."""
        source = parse_source_form(form.source, self._ports.parse_source)
        return json_reply(probe_view(await self._ports.registry.probe(source)))

    async def _view(self, camera: Camera) -> rest.CameraView:
        status = self._ports.registry.status(camera.id)
        return camera_view(camera, status, await self._head(camera.id), now_us=self._ports.clock.now_us())

    async def _head(self, camera_id: CameraId) -> Head | None:
        """Return how far the window reaches, or None while it does not answer or knows nothing yet."""
        try:
            return await self._ports.window.head(camera_id)
        except ServiceError as error:
            if error.kind in (ErrorKind.NOT_FOUND, ErrorKind.UNAVAILABLE):
                return None
            raise
