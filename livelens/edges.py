"""What every service has around its window, whoever fills that: people who answer, and the edges that let others ask."""

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from core.clock import ServiceClock
from core.errors import ServiceError
from core.ids import IdSource
from core.meter import Metric
from featcache import WindowReader
from ingest import Feeds, parse_source
from livelens import __version__
from livelens.answering import Answering
from livelens.errors import WrongSetting
from livelens.settings import Settings
from qa import Asker, AskParts, Chat, ChatParts
from qa.measured import word_answer
from store import Store
from web import ExportedMeter, Ports, Server, create_app
from web.ports import CameraRegistry, Preview, Readiness

_log = logging.getLogger(__name__)

MEASURE_EVERY_S = 2.0
FORGET_EVERY_S = 3600.0
DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Service:
    """A running service: its web server, not serving yet, and the parts that the start still needs."""

    server: Server
    cameras: CameraRegistry
    feeds: Feeds


class MeasuredCameras(Protocol):
    """Cameras that are counted."""

    @property
    def any_online(self) -> bool:
        """Return whether frames of any camera are coming in."""

    def measure(self) -> None:
        """Set the gauges that count cameras."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a service stands on. ``sent`` decodes what people send, apart, so that no file delays a camera."""

    settings: Settings
    zone: ZoneInfo
    clock: ServiceClock
    ids: IdSource
    meter: ExportedMeter
    store: Store
    sent: Executor


@dataclass(frozen=True, slots=True)
class Inside:
    """What is asked about, and who answers. ``retention_us`` None where nobody here says how long frames are kept."""

    window: WindowReader
    cameras: CameraRegistry
    preview: Preview
    readiness: Readiness
    answers: Answering
    feeds: Feeds
    retention_us: int | None = None


def edges(ground: Ground, inside: Inside) -> Server:
    """Return the web server over all of it, not serving yet."""
    answers, settings = inside.answers, ground.settings
    asker = Asker(
        AskParts(
            window=inside.window,
            cameras=inside.cameras,
            conversations=ground.store.conversations,
            decoder=lambda: answers.decoder,
            word_measured=word_answer,
            clock=ground.clock,
            meter=ground.meter,
            ids=ground.ids,
        ),
        settings.ask,
    )
    chat = Chat(
        ChatParts(
            decoder=lambda: answers.decoder,
            encoder=lambda: answers.encoder,
            executor=ground.sent,
            clock=ground.clock,
            knows=answers.knows,
            meter=ground.meter,
        ),
        settings.chat,
    )
    ports = Ports(
        registry=inside.cameras,
        window=inside.window,
        preview=inside.preview,
        asker=asker,
        chat=chat,
        readiness=inside.readiness,
        parse_source=partial(parse_source, feeds=inside.feeds),
        exporter=ground.meter,
        meter=ground.meter,
        clock=ground.clock,
        ids=ground.ids,
        default_zone=ground.zone,
        retention_us=inside.retention_us,
    )
    return Server(create_app(ports, settings.web, version=__version__), settings.web)


@asynccontextmanager
async def background(*work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
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


async def housekeeping(cameras: MeasuredCameras, clock: ServiceClock, meter: ExportedMeter) -> None:
    """Set gauges every so often, and take over a lasting step of the host's clock while no camera sends."""
    while True:
        cameras.measure()
        meter.gauge(Metric.HOST_CLOCK_STEP_SECONDS, clock.host_step_us() / 1e6)
        if not cameras.any_online and (adopted_us := clock.adopt_step()):
            _log.warning("the host's clock went forward; adopted", extra={"seconds": adopted_us / 1e6})
        await asyncio.sleep(MEASURE_EVERY_S)


async def forget_old_conversations(store: Store, clock: ServiceClock, days: int) -> None:
    """Let questions and answers go that are older, every hour."""
    while True:
        try:
            await store.conversations.forget(before_us=clock.now_us() - days * DAY_US)
        except ServiceError as error:
            _log.warning("old conversations were not forgotten", extra={"code": error.code})
        await asyncio.sleep(FORGET_EVERY_S)


def database_of(settings: Settings) -> str | Path:
    """Return where durable state is kept; the data folder is made. Raises WrongSetting."""
    if settings.database_url:
        return settings.database_url
    folder = settings.data_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongSetting(f"data_dir = {str(folder)!r}: {error.strerror}") from None
    return folder / "livelens.db"
