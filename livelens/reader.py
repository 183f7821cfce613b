"""One process that takes no cameras in: it answers from the window that others publish to Redis.

    owners ══▶ Redis ══▶ PublishedView ─▶ qa, web          frames that only an owner holds are asked of it
                 └─────▶ PublishedCameras ─▶ web           which cameras there are, once a second

It keeps no pool and encodes nothing. Redis away: 503 with ``Retry-After``, not ready, and back by itself.
"""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from zoneinfo import ZoneInfo

from core.clock import ServiceClock
from core.ids import IdSource
from featcache.directory import RedisDirectory
from featcache.redis_reader import RedisReader
from ingest import Feeds
from livelens.addresses import SCENE
from livelens.answering import Answering, answering
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
from livelens.reader_cameras import PublishedCameras
from livelens.reader_window import PublishedPictures, PublishedView
from livelens.scene_feed import SceneFeeds
from livelens.settings import Settings
from livelens.window import for_ever
from qa import warm_up
from store import Store
from web import ExportedMeter

PROMPT_THREADS = 2
SENT_THREADS = 1


class _Readiness:
    """Implements ``web.ports.Readiness``. Without Redis there is nothing to answer from."""

    def __init__(self, answers: Answering, cameras: PublishedCameras) -> None:
        self._answers = answers
        self._cameras = cameras

    def parts(self) -> dict[str, bool]:
        reached = self._cameras.reached
        return {"cameras": reached, "model": self._answers.healthy(), "redis": reached}

    def details(self) -> dict[str, str]:
        clocks = self._cameras.clocks_in_words()
        told = {"redis": self._cameras.sight.in_words(), **({"clocks": clocks} if clocks else {})}
        return self._answers.details() | told

    def ready(self) -> bool:
        return self._cameras.reached


@asynccontextmanager
async def running_reader(settings: Settings, zone: ZoneInfo) -> AsyncIterator[Service]:
    """Run all but the web server inside the block; leaving it stops everything, newest part first."""
    clock, ids, meter = ServiceClock(), IdSource(), ExportedMeter()
    async with AsyncExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(PROMPT_THREADS, thread_name_prefix="pictures"))
        sent = stack.enter_context(ThreadPoolExecutor(SENT_THREADS, thread_name_prefix="sent-pictures"))
        store = await stack.enter_async_context(await Store.open(database_of(settings)))
        reader = RedisReader(settings.redis, meter=meter)
        directory = RedisDirectory(settings.redis, meter=meter)
        stack.push_async_callback(reader.aclose)
        stack.push_async_callback(directory.aclose)
        answers = await stack.enter_async_context(
            answering(settings, executor=executor, clock=clock, meter=meter)
        )
        cameras = PublishedCameras(
            directory,
            clock=clock,
            meter=meter,
            answered_by=lambda encoded: answers.answered_by(encoded=encoded),
        )
        window = PublishedView(reader, cameras)
        feeds: Feeds = {SCENE: SceneFeeds(clock)}
        server = edges(
            Ground(settings, zone, clock, ids, meter, store, sent),
            Inside(window, cameras, PublishedPictures(window), _Readiness(answers, cameras), answers, feeds),
        )
        started = asyncio.Event()
        await stack.enter_async_context(
            background(
                housekeeping(cameras, clock, meter),
                forget_old_conversations(store, clock, settings.conversation_days),
                answers.look_after(),
                asyncio.to_thread(warm_up),
                for_ever(partial(cameras.run, started)),
            )
        )
        await started.wait()
        yield Service(server, cameras, feeds)
