"""One process that does everything: window, roads, decoder, asker, web.

Start: socket, store, model, cameras, web. Stop, in the other order: readiness goes false and the web server
lets its clients go, roads end, stream times are written down, the engine's thread is joined.
"""

import asyncio
import logging
import shutil
import signal
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import tzlocal

from core.clock import ServiceClock
from core.errors import ServiceError
from core.ids import IdSource
from core.meter import Metric
from featcache import keep_trimmed
from featcache.fill import Encoder
from featcache.narrow import NarrowEncoder
from ingest import Feeds, parse_source
from livelens import __version__
from livelens.addresses import SCENE
from livelens.answering import Answering, answering
from livelens.cameras import Cameras
from livelens.errors import AddressNotFree, WrongSetting
from livelens.first_cameras import DEMO_CAMERA, demo_cameras, named_camera, register
from livelens.preview import Previews
from livelens.road import RoadParts
from livelens.scene_feed import SceneFeeds
from livelens.settings import Settings
from livelens.window import OpenWindow, open_window
from qa import Asker, AskParts, Chat, ChatParts, warm_up
from qa.measured import word_answer
from store import Store
from web import ExportedMeter, Ports, Server, create_app, listen

_log = logging.getLogger(__name__)

MEASURE_EVERY_S = 2.0
FORGET_EVERY_S = 3600.0
DAY_US = 86_400_000_000
PICTURE_THREADS = 2
SENT_THREADS = 1  # what people send is decoded apart, so that no file delays a camera


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its web server, not serving yet, and the parts that the start still needs."""

    server: Server
    cameras: Cameras
    feeds: Feeds


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
        return self._opened.details()

    def ready(self) -> bool:
        return self.cameras


@asynccontextmanager
async def running_service(settings: Settings, zone: ZoneInfo) -> AsyncIterator[Service]:
    """Run all but the web server inside the block; leaving it stops everything, newest part first."""
    clock, ids, meter = ServiceClock(), IdSource(), ExportedMeter()
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(PICTURE_THREADS, thread_name_prefix="pictures"))
        store = await stack.enter_async_context(
            await Store.open(settings.database_url or _database(settings.data_dir))
        )
        opened = await stack.enter_async_context(open_window(settings, clock=clock, meter=meter))
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
        asker = Asker(
            AskParts(
                window=window,
                cameras=cameras,
                conversations=store.conversations,
                decoder=lambda: answers.decoder,
                word_measured=word_answer,
                clock=clock,
                meter=meter,
                ids=ids,
            ),
            settings.ask,
        )
        sent = stack.enter_context(ThreadPoolExecutor(SENT_THREADS, thread_name_prefix="sent-pictures"))
        chat = Chat(
            ChatParts(
                decoder=lambda: answers.decoder,
                encoder=lambda: answers.encoder,
                executor=sent,
                clock=clock,
                knows=answers.encoder.knows if answers.encoder else None,
                meter=meter,
            ),
            settings.chat,
        )
        app = create_app(
            Ports(
                registry=cameras,
                window=window,
                preview=Previews(cameras, clock=clock, executor=executor),
                asker=asker,
                chat=chat,
                readiness=readiness,
                parse_source=partial(parse_source, feeds=feeds),
                exporter=meter,
                meter=meter,
                clock=clock,
                ids=ids,
                default_zone=zone,
                retention_us=settings.window.retention_us,
            ),
            settings.web,
            version=__version__,
        )
        await stack.enter_async_context(
            _background(
                _housekeeping(cameras, clock, meter),
                _forget_old_conversations(store, clock, settings.conversation_days),
                keep_trimmed(
                    window,
                    lambda: [camera.id for camera in cameras.list()],
                    clock=clock,
                    settings=settings.window,
                ),
                answers.look_after(),
                asyncio.to_thread(warm_up),
                *opened.work(),
            )
        )
        stack.push_async_callback(opened.drain)
        started = asyncio.Event()
        await stack.enter_async_context(_background(cameras.run(started)))
        await started.wait()
        readiness.cameras = True
        yield Service(Server(app, settings.web), cameras, feeds)


@asynccontextmanager
async def _background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run coroutines beside the block; one that fails ends the block, and leaving it ends them."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(coroutine, name=getattr(coroutine, "__qualname__", "background"))
            for coroutine in work
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _housekeeping(cameras: Cameras, clock: ServiceClock, meter: ExportedMeter) -> None:
    while True:
        cameras.measure()
        meter.gauge(Metric.HOST_CLOCK_STEP_SECONDS, clock.host_step_us() / 1e6)
        if not cameras.any_online and (adopted_us := clock.adopt_step()):
            _log.warning("the host's clock went forward; adopted", extra={"seconds": adopted_us / 1e6})
        await asyncio.sleep(MEASURE_EVERY_S)


async def _forget_old_conversations(store: Store, clock: ServiceClock, days: int) -> None:
    while True:
        try:
            await store.conversations.forget(before_us=clock.now_us() - days * DAY_US)
        except ServiceError as error:
            _log.warning("old conversations were not forgotten", extra={"code": error.code})
        await asyncio.sleep(FORGET_EVERY_S)


def _kept_as(settings: Settings, answers: Answering) -> Encoder | None:
    """Return the encoder that fills the window, at the width that the settings ask for."""
    if answers.encoder is None or not settings.window.int8_features:
        return answers.encoder
    return NarrowEncoder(answers.encoder)


def _database(data_dir: Path) -> Path:
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongSetting(f"data_dir = {str(data_dir)!r}: {error.strerror}") from None
    return data_dir / "livelens.db"


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
    zone = ZoneInfo(settings.zone) if settings.zone != "local" else _local_zone()
    listener = _listen(settings.host, settings.port)
    data_dir = settings.data_dir / "demo" if demo else settings.data_dir
    temporary = Path(tempfile.mkdtemp(prefix="livelens-")) if isolate else None
    settings = settings.model_copy(update={"data_dir": temporary or data_dir})
    stopping = _Stop()
    try:
        with stopping.on_signals():
            async with running_service(settings, zone) as service:
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
