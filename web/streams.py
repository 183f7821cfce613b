"""Replies without an end: sent while somebody reads, ended at once when they leave or the server stops."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, nullcontext
from types import TracebackType
from typing import Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from core.errors import ServiceError
from web.errors import ServerStopping
from web.problems import refusal

logger = logging.getLogger(__name__)

_END_S = 1.0
_STALLED_END_S = 40.0  # longer than the kernel's patience, see web.server


class Interrupted(Exception):
    """Raised at the end of an ``Interruptible`` that was interrupted."""


class Interruptible:
    """A block that another task can interrupt, once: the ``async with`` then ends with Interrupted.

    An interruption before the block is entered is not lost. Built on ``asyncio.timeout``, so that it tells
    itself apart from every other cancellation.
    """

    def __init__(self) -> None:
        self._timeout = asyncio.timeout(None)
        self._asked = False
        self._inside = False

    def interrupt(self) -> None:
        """End the block now, or as soon as it is entered. Does nothing when it has ended."""
        if not self._asked:
            self._asked = True
            if self._inside:
                self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._inside = True
        if self._asked:
            self._timeout.reschedule(asyncio.get_running_loop().time())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inside = False
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:  # raised in here by nothing but our own timeout
            raise Interrupted from None


class Stopping:
    """Says, once, that the server stops. Whoever waits is interrupted; who comes later does not begin."""

    def __init__(self) -> None:
        self._begun = False
        self._scopes: set[Interruptible] = set()

    @property
    def begun(self) -> bool:
        return self._begun

    def begin(self) -> None:
        """Interrupt everything that runs under ``interrupting``. On the server's loop only."""
        self._begun = True
        for scope in tuple(self._scopes):
            scope.interrupt()

    @contextmanager
    def interrupting(self, scope: Interruptible) -> Iterator[None]:
        """Interrupt ``scope`` when the server stops, or now if it does already."""
        if self._begun:
            scope.interrupt()
        self._scopes.add(scope)
        try:
            yield
        finally:
            self._scopes.discard(scope)


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


def _silence(_error: ServiceError) -> bytes:
    return b""


class StreamReply(Response):
    """Sends what an async generator yields, as it comes.

    Nothing is sent before the first chunk is there, so that an error before it is a proper problem document.
    One after it ends the reply with ``last_words``. The generator is closed as soon as the client leaves,
    takes nothing for ``stall_timeout_s``, or the server stops; a place is held meanwhile.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes],
        *,
        media_type: str,
        stopping: Stopping,
        stall_timeout_s: float,
        places: Places,
        last_words: Callable[[ServiceError], bytes] = _silence,
    ) -> None:
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._stopping = stopping
        self._stall_timeout_s = stall_timeout_s
        self._places = places
        self._last_words = last_words
        self._begun = False
        self._stalled = False
        self._gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with asyncio.TaskGroup() as group:
            reading = Interruptible()
            watcher = group.create_task(self._watch(receive, reading), name="web:client-gone")
            error = await self._run(send, reading)
            if self._begun and not self._gone:
                await self._end(send, b"" if error is None else self._last_words(error))
            watcher.cancel()
        if error is not None and not self._begun and not self._gone:
            await refusal(error, scope["path"])(scope, receive, send)

    async def _run(self, send: Send, reading: Interruptible) -> ServiceError | None:
        """Send everything, and close the generator; return what went wrong, if anything did."""
        try:
            async with aclosing(self._chunks), reading:
                if self._stopping.begun:
                    return ServerStopping()
                with self._stopping.interrupting(reading), self._places.take():
                    async for chunk in self._chunks:
                        await self._send(send, chunk)
                    await self._begin(send)
        except ServiceError as error:
            logger.info("stream ended early", extra={"code": error.code, "reason": str(error)})
            return error
        except (Interrupted, TimeoutError):  # the client left, the server stops; or nothing is taken
            return ServerStopping()
        except Exception:
            # The request edge: this reply fails, the server goes on.
            logger.exception("stream failed")
            return ServiceError()
        return None

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

    async def _end(self, send: Send, last: bytes) -> None:
        """Finish the reply. A client that took nothing gets until the kernel gives it up, or the server stops."""
        patience = Interruptible()
        try:
            async with patience, asyncio.timeout(_STALLED_END_S if self._stalled else _END_S):
                with self._stopping.interrupting(patience) if self._stalled else nullcontext():
                    await send({"type": "http.response.body", "body": last, "more_body": False})
        except (TimeoutError, Interrupted):
            logger.info("client took nothing; its stream is given up")

    async def _watch(self, receive: Receive, reading: Interruptible) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        reading.interrupt()
