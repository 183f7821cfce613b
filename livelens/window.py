"""The window of this process: the pool, and where the settings name a Redis, its published copy."""

import asyncio
import importlib.util
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from core.clock import Clock
from core.meter import Meter
from featcache import MemoryPool, Window
from featcache.bulletin import Bulletin
from featcache.ended import KeptDeletions
from featcache.paged_memory import PagedMemory, open_memory
from livelens.errors import WrongSetting
from livelens.settings import Settings

if TYPE_CHECKING:
    from featcache.published import PublishedWindow

_log = logging.getLogger(__name__)

RESTART_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """What roads write to and questions read; ``published`` is the same where there is a Redis, else None."""

    window: Window
    published: "PublishedWindow | None" = None

    def work(
        self, bulletins: Callable[[], Iterable[Bulletin]] = tuple
    ) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return what runs beside the service until cancelled; ``bulletins`` is what to tell others of its cameras."""
        if self.published is None:
            return ()
        return (
            for_ever(self.published.publish),
            for_ever(self.published.lend),
            for_ever(partial(self.published.tell, bulletins)),
        )

    async def drain(self) -> None:
        """Let what waits for Redis go there, for a second at most; called when roads have ended, before ``work``."""
        if self.published is not None:
            await self.published.drain()

    def parts(self) -> dict[str, bool]:
        """Return what ``/readyz`` tells of it; nothing without a Redis."""
        return {} if self.published is None else {"redis": self.published.health.up}

    def details(self) -> dict[str, str]:
        """Return the same in words."""
        return {} if self.published is None else {"redis": self.published.health.in_words()}


@asynccontextmanager
async def open_window(
    settings: Settings, *, clock: Clock, meter: Meter, deletions: KeptDeletions | None = None
) -> AsyncIterator[OpenWindow]:
    """Open the window for the length of the block. A Redis that is away changes nothing but what is told of it.

    Args:
        deletions: Remembers, over restarts, which deletions Redis was not there for.

    Raises:
        WrongSetting: a Redis is named and its client is not installed.
        PagesRefused: there is no such GPU, or not so much memory on it.
    """
    pool = MemoryPool(settings.window, meter=meter, pages=await _pages(settings))
    if not settings.redis.url:
        yield OpenWindow(pool)
        return
    need_redis_client()
    from featcache.published import PublishedWindow

    window = PublishedWindow(
        pool, settings.redis, settings=settings.window, clock=clock, meter=meter, deletions=deletions
    )
    try:
        yield OpenWindow(window, window)
    finally:
        await window.aclose()


async def _pages(settings: Settings) -> PagedMemory | None:
    """Return the GPU memory that features are to lie in, None for none. Raises PagesRefused."""
    window = settings.window
    if not window.gpu_budget_bytes:
        return None
    pages = await asyncio.to_thread(open_memory, window.gpu_budget_bytes, window.gpu_device)
    _log.info(
        "features of the newest frames lie in pages",
        extra={"device": pages.device, "bytes": pages.capacity_bytes},
    )
    return pages


def check_ingest(settings: Settings, *, takes_cameras: bool) -> None:
    """Raise WrongSetting where a process that takes no cameras in has no window, or is given cameras."""
    if settings.ingest.enabled:
        return
    if not settings.redis.url:
        raise WrongSetting(
            "redis.url is empty: with ingest.enabled = false the window is read from Redis; "
            "allowed are redis://, rediss:// and unix:// addresses"
        )
    if takes_cameras:
        raise WrongSetting(
            "ingest.enabled = false: cameras are not taken in here; allowed with cameras is true only"
        )
    need_redis_client()


def need_redis_client() -> None:
    """Raise WrongSetting where the client of Redis is not installed."""
    if importlib.util.find_spec("redis") is None:
        raise WrongSetting(
            "redis.url is set: the extra 'redis' is not installed (pip install 'livelens[redis]')"
        )


async def for_ever(work: Callable[[], Awaitable[None]]) -> None:
    """Run work that does not end by itself; should it fail for a reason nobody foresaw, say so and run it again."""
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001  the pool serves without Redis, whatever the way there does
            _log.exception("work on the published copy failed")
        await asyncio.sleep(RESTART_PAUSE_S)
