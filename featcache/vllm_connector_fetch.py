"""Fetches frames from Redis in a thread of its own, in batches, so that the engine never waits for them.

fetcher = FrameFetcher(RedisSettings(url=...), convert=convert)
fetcher.fetch(refs)          # returns at once
fetcher.take()               # what has come since, each frame with its value or why not
"""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from core.frames import Features
from core.ids import FrameRef
from core.meter import NullMeter
from featcache.errors import WindowUnavailable
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.vllm_connector_checks import Refusal

logger = logging.getLogger(__name__)

ValueT = TypeVar("ValueT")
Arrival = tuple[FrameRef, ValueT | Refusal]

_JOIN_S = 5.0


class FrameFetcher(Generic[ValueT]):
    """Reads whole frames and converts their features. All methods may be called from the engine's thread.

    Nothing that Redis does or holds raises here: it becomes a ``Refusal`` of the frames concerned.
    """

    def __init__(
        self,
        settings: RedisSettings,
        *,
        convert: Callable[[Features | None], ValueT | Refusal],
        batch: int = 8,
        at_once: int = 4,
    ) -> None:
        """Args:
        convert: Makes the value of a frame's features; called in the fetching thread.
        batch: Frames read in one go: large enough to save round trips, small enough not to hold up Redis.
        at_once: Batches on their way at the same time.
        """
        self._settings = settings
        self._convert = convert
        self._batch = batch
        self._at_once = at_once
        self._arrived: deque[Arrival[ValueT]] = deque()
        self._damaged: tuple[tuple[str, int], ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()
        self._wanted: asyncio.Queue[Sequence[FrameRef]] = asyncio.Queue()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, name="featcache-fetch", daemon=True)
        self._thread.start()
        self._begun.wait()

    def fetch(self, refs: Sequence[FrameRef]) -> None:
        """Begin to fetch frames; each comes out of ``take`` once."""
        assert self._loop is not None
        for at in range(0, len(refs), self._batch):
            part = tuple(refs[at : at + self._batch])
            try:
                self._loop.call_soon_threadsafe(self._wanted.put_nowait, part)
            except RuntimeError:  # closed
                self._arrived.extend((ref, Refusal.AWAY) for ref in part)

    def take(self) -> list[Arrival[ValueT]]:
        """Return what has arrived since the last call; never waits."""
        taken: list[Arrival[ValueT]] = []
        while self._arrived:
            taken.append(self._arrived.popleft())
        return taken

    @property
    def damaged(self) -> tuple[tuple[str, int], ...]:
        """Return how many values were found forged or damaged so far, by reason."""
        return self._damaged

    def close(self) -> None:
        """End the thread; what is still on its way is given up."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(_JOIN_S)

    # inside: the thread

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun.set()
        reader = RedisReader(self._settings, meter=NullMeter())
        async with asyncio.TaskGroup() as tasks:
            workers = [
                tasks.create_task(self._work(reader), name=f"featcache-fetch:{n}")
                for n in range(self._at_once)
            ]
            await self._ended.wait()
            for worker in workers:
                worker.cancel()
        await reader.aclose()

    async def _work(self, reader: RedisReader) -> None:
        while True:
            refs = await self._wanted.get()
            try:
                found = {frame.ref: frame.features for frame in await reader.fetch(refs)}
                arrivals: list[Arrival[ValueT]] = [
                    (ref, self._convert(found[ref]) if ref in found else Refusal.GONE) for ref in refs
                ]
            except WindowUnavailable:
                arrivals = [(ref, Refusal.AWAY) for ref in refs]
            except Exception:
                logger.exception("fetching frames failed", extra={"frames": len(refs)})
                arrivals = [(ref, Refusal.FAILED) for ref in refs]
            self._damaged = reader.refused
            self._arrived.extend(arrivals)
