"""Replies without an end: sent while somebody reads, ended at once when they leave or the server stops."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from core.errors import ServiceError
from web.errors import ServerStopping
from web.problems import problem

logger = logging.getLogger(__name__)


class Stopping:
    """Says, once, that the server stops. Whoever waits is interrupted; who comes later does not begin."""

    def __init__(self) -> None:
        self._begun = False
        self._scopes: set[asyncio.Timeout] = set()

    @property
    def begun(self) -> bool:
        return self._begun

    def begin(self) -> None:
        """Interrupt everything that runs under ``interrupting``. On the server's loop only."""
        self._begun = True
        for scope in tuple(self._scopes):
            interrupt(scope)

    @contextmanager
    def interrupting(self, scope: asyncio.Timeout) -> Iterator[None]:
        """Interrupt ``scope``, which is entered, when the server stops."""
        if self._begun:
            interrupt(scope)
        self._scopes.add(scope)
        try:
            yield
        finally:
            self._scopes.discard(scope)


def interrupt(scope: asyncio.Timeout) -> None:
    """Let the task inside ``scope`` see a TimeoutError now. Does nothing when it has left already."""
    try:
        scope.reschedule(asyncio.get_running_loop().time())
    except RuntimeError:  # it expired or ended a moment ago
        logger.debug("scope had ended")


class Places:
    """A counted number of places; who finds none is refused."""

    def __init__(self, limit: int, refusal: Callable[[int], ServiceError]) -> None:
        self._limit = limit
        self._refusal = refusal
        self._taken = 0

    @property
    def taken(self) -> int:
        return self._taken

    @contextmanager
    def take(self) -> Iterator[None]:
        """Hold one place. Raises the refusal where all are taken."""
        if self._taken >= self._limit:
            raise self._refusal(self._limit)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class StreamReply(Response):
    """Sends what an async generator yields, as it comes.

    Nothing is sent before the first chunk is there, so that an error before it is a proper problem document.
    The generator is closed as soon as the client leaves, takes nothing for ``stall_timeout_s``, or the
    server stops, then with ``farewell``; a place is held meanwhile.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes],
        *,
        media_type: str,
        stopping: Stopping,
        stall_timeout_s: float,
        places: Places,
        farewell: bytes = b"",
    ) -> None:
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._stopping = stopping
        self._stall_timeout_s = stall_timeout_s
        self._places = places
        self._farewell = farewell
        self._begun = False
        self._stalled = False
        self._gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: ServiceError | None = None
        async with asyncio.TaskGroup() as group:
            reading = asyncio.timeout(None)
            watcher: asyncio.Task[None] | None = None
            try:
                async with aclosing(self._chunks), reading:
                    watcher = group.create_task(self._watch(receive, reading), name="web:client-gone")
                    with self._stopping.interrupting(reading), self._places.take():
                        await self._send_all(send)
            except ServiceError as error:
                refusal = error
            except TimeoutError:
                refusal = None if self._gone or self._begun else ServerStopping()
            if refusal is None and self._begun and not self._gone:
                await self._end(send)
            if watcher is not None:
                watcher.cancel()
        if refusal is not None:
            await problem(refusal)(scope, receive, send)

    async def _send_all(self, send: Send) -> None:
        """Send until the end. An error after the first chunk cuts the reply short, and is logged."""
        try:
            async for chunk in self._chunks:
                await self._send(send, chunk)
            await self._begin(send)
        except ServiceError as error:
            if not self._begun:
                raise
            logger.info("stream cut short", extra={"code": error.code, "reason": str(error)})
        self._farewell = b""

    async def _begin(self, send: Send) -> None:
        if not self._begun:
            self._begun = True
            await send(
                {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
            )

    async def _send(self, send: Send, chunk: bytes) -> None:
        await self._begin(send)
        try:
            async with asyncio.timeout(self._stall_timeout_s):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            self._stalled = True
            raise

    async def _end(self, send: Send) -> None:
        """Finish the reply, where the client still takes something."""
        try:
            async with asyncio.timeout(0.0 if self._stalled else 1.0):
                await send({"type": "http.response.body", "body": self._farewell, "more_body": False})
        except TimeoutError:
            logger.info("client took nothing; its stream is given up")

    async def _watch(self, receive: Receive, reading: asyncio.Timeout) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        interrupt(reading)
