"""Routes for those who operate the service: alive, ready, metrics."""

from functools import partial

from fastapi import FastAPI
from starlette.responses import Response

from web import rest
from web.ports import Ports
from web.replies import NEVER, json_reply
from web.streams import Stopping

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class HealthRoutes:
    """``/healthz``, ``/readyz`` and ``/metrics``."""

    def __init__(self, ports: Ports, stopping: Stopping) -> None:
        self._ports = ports
        self._stopping = stopping

    def add_to(self, app: FastAPI) -> None:
        """Put the routes into ``app``."""
        add = partial(app.add_api_route, tags=["Operation"])
        add("/healthz", self.alive, methods=["GET"], response_class=Response)
        add("/readyz", self.ready, methods=["GET"], response_model=rest.ReadinessView)
        add("/metrics", self.metrics, methods=["GET"], response_class=Response)

    async def alive(self) -> Response:
        """Say that the process answers. Touches nothing."""
        return Response("ok\n", media_type="text/plain", headers={"Cache-Control": NEVER})

    async def ready(self) -> Response:
        """Name each part and whether it works; 503 until questions can be answered, and while stopping."""
        ready = self._ports.readiness.ready() and not self._stopping.begun
        readiness = self._ports.readiness
        view = rest.ReadinessView(ready=ready, parts=readiness.parts(), details=readiness.details())
        return json_reply(view, 200 if ready else 503)

    async def metrics(self) -> Response:
        """Show all metrics in the Prometheus text format."""
        return Response(
            self._ports.exporter.render(), media_type=METRICS_TYPE, headers={"Cache-Control": NEVER}
        )
