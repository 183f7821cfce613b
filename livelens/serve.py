"""One process that does everything: window, roads, decoder, asker, web. Without ingest, all but window and roads.

Start: socket, store, model, cameras, web. Stop, in the other order: readiness goes false and the web server
lets its clients go, roads end, stream times are written down, the engine's thread is joined.
"""

import asyncio
import shutil
import signal
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import tzlocal

from core.clock import ServiceClock
from core.ids import IdSource
from featcache import keep_trimmed
from featcache.fill import Encoder
from featcache.narrow import NarrowEncoder
from ingest import Feeds
from livelens.addresses import SCENE
from livelens.answering import Answering, answering
from livelens.bulletins import bulletins_of
from livelens.cameras import Cameras
from livelens.edges import (
    Ground,
    Inside,
    Service,
    background,
    database_of,
    edges,
    forget_old_conversations,
    housekeeping,
)
from livelens.errors import AddressNotFree
from livelens.first_cameras import DEMO_CAMERA, demo_cameras, named_camera, register
from livelens.preview import Previews
from livelens.reader import running_reader
from livelens.road import RoadParts
from livelens.scene_feed import SceneFeeds
from livelens.settings import Settings
from livelens.window import OpenWindow, check_ingest, open_window
from qa import warm_up
from store import Store
from web import ExportedMeter, Server, listen

PICTURE_THREADS = 2
SENT_THREADS = 1


class _Readiness:
    """Implements ``web.ports.Readiness``.

    A model that is away degrades answers, it does not end them; a Redis that is away is not felt here.
    """

    def __init__(self, answers: Answering, opened: OpenWindow) -> None:
        self._answers = answers
        self._opened = opened
        self.cameras = False

    def parts(self) -> dict[str, bool]:
        return {"cameras": self.cameras, "model": self._answers.healthy(), **self._opened.parts()}

    def details(self) -> dict[str, str]:
        return self._answers.details() | self._opened.details()

    def ready(self) -> bool:
        return self.cameras


@asynccontextmanager
async def running_service(settings: Settings, zone: ZoneInfo) -> AsyncIterator[Service]:
    """Run all but the web server inside the block; leaving it stops everything, newest part first."""
    clock, ids, meter = ServiceClock(), IdSource(), ExportedMeter()
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(PICTURE_THREADS, thread_name_prefix="pictures"))
        store = await stack.enter_async_context(await Store.open(database_of(settings)))
        opened = await stack.enter_async_context(
            open_window(settings, clock=clock, meter=meter, deletions=store.deletions)
        )
        window = opened.window
        answers = await stack.enter_async_context(
            answering(settings, executor=executor, clock=clock, meter=meter, window=window)
        )
        feeds: Feeds = {SCENE: SceneFeeds(clock)}
        parts = RoadParts(
            window,
            clock,
            meter,
            executor,
            settings.ingest,
            settings.sampler,
            _kept_as(settings, answers),
            feeds,
        )
        cameras = Cameras(
            store, parts, ids=ids, answered_by=lambda road: answers.answered_by(encoded=road.encoded)
        )
        readiness = _Readiness(answers, opened)
        sent = stack.enter_context(ThreadPoolExecutor(SENT_THREADS, thread_name_prefix="sent-pictures"))
        server = edges(
            Ground(settings, zone, clock, ids, meter, store, sent),
            Inside(
                window,
                cameras,
                Previews(cameras, clock=clock, executor=executor),
                readiness,
                answers,
                feeds,
                retention_us=settings.window.retention_us,
            ),
        )
        await stack.enter_async_context(
            background(
                housekeeping(cameras, clock, meter),
                forget_old_conversations(store, clock, settings.conversation_days),
                keep_trimmed(
                    window,
                    lambda: [camera.id for camera in cameras.list()],
                    clock=clock,
                    settings=settings.window,
                ),
                answers.look_after(),
                asyncio.to_thread(warm_up),
                *opened.work(lambda: bulletins_of(cameras, clock)),
            )
        )
        stack.push_async_callback(opened.drain)
        started = asyncio.Event()
        await stack.enter_async_context(background(cameras.run(started)))
        await started.wait()
        readiness.cameras = True
        yield Service(server, cameras, feeds)


def _kept_as(settings: Settings, answers: Answering) -> Encoder | None:
    """Return the encoder that fills the window, at the width that the settings ask for."""
    if answers.encoder is None or not settings.window.int8_features:
        return answers.encoder
    return NarrowEncoder(answers.encoder)


async def run_service(
    settings: Settings,
    *,
    demo: bool,
    browser: bool,
    isolate: bool,
    cameras: Sequence[str],
    announce: Callable[[str], None],
) -> None:
    """Serve until a signal. ``announce`` gets the address once questions can be asked.

    ``cameras`` are ``[NAME=]ADDRESS``; they are registered, or given their new address, at the start.
    """
    check_ingest(settings, takes_cameras=demo or bool(cameras))
    running = running_service if settings.ingest.enabled else running_reader
    zone = ZoneInfo(settings.zone) if settings.zone != "local" else _local_zone()
    listener = _listen(settings.host, settings.port)
    data_dir = settings.data_dir / "demo" if demo else settings.data_dir
    temporary = Path(tempfile.mkdtemp(prefix="livelens-")) if isolate else None
    settings = settings.model_copy(update={"data_dir": temporary or data_dir})
    stopping = _Stop()
    try:
        with stopping.on_signals():
            async with running(settings, zone) as service:
                first = [*demo_cameras(zone)] if demo else []
                first += [
                    named_camera(text, zone, number, feeds=service.feeds)
                    for number, text in enumerate(cameras)
                ]
                for camera in first:
                    await register(service.cameras, camera)
                url = _url(listener) + (f"/#{DEMO_CAMERA}" if demo else "")
                announce(url)
                if browser:
                    await asyncio.to_thread(webbrowser.open, url)
                stopping.server = service.server
                await service.server.serve(sockets=[listener])
    finally:
        listener.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


class _Stop:
    """Ends the start on a signal. Once there is a web server, it is told to end, whoever takes the signal.

    uvicorn takes signals itself, but one that comes just before it does would be lost. It raises what it took
    again when it has ended; by then everything is being stopped already.
    """

    def __init__(self) -> None:
        self.server: Server | None = None

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM inside the block."""
        loop, main = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.server is not None:
                self.server.should_exit = True
            elif main is not None:
                main.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return listen(host, port)
    except OSError as error:
        raise AddressNotFree(host, port, error.strerror or str(error)) from None


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _local_zone() -> ZoneInfo:
    zone = tzlocal.get_localzone()
    return zone if zone.key else ZoneInfo("UTC")
