"""A TCP proxy that spoils a connection on purpose: swallows, refuses, falls silent, rewrites a description.

async with FaultProxy(server.port) as proxy:
    read(server.url("cam", port=proxy.port))
    proxy.swallow()        # the socket stays open, nothing passes either way
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 65_536


class FaultProxy:
    """Passes connections of one loopback port on to another, until told otherwise.

    ``connections`` counts accepted ones, so that a test can say that nobody called any more.
    """

    def __init__(
        self,
        target_port: int,
        *,
        silent_after: bytes | None = None,
        rewrite_description: Callable[[str], str] | None = None,
    ) -> None:
        """Args:
        target_port: Where to pass on to; 0 accepts and never says a word.
        silent_after: Swallow everything once the client has sent these bytes and got their answer, for
            example ``b"DESCRIBE"``.
        rewrite_description: Changes the SDP in the answer to DESCRIBE.
        """
        self.port = 0
        self.connections = 0
        self._target_port = target_port
        self._silent_after = silent_after
        self._rewrite = rewrite_description
        self._swallowing = False
        self._server: asyncio.Server | None = None
        self._handlers: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    def swallow(self) -> None:
        """From now on nothing passes, both ways, on old connections and on new ones; sockets stay open."""
        self._swallowing = True

    def pass_on(self) -> None:
        """Let connections made from now on through again; old ones stay silent, as after a dead link."""
        self._swallowing = False

    async def refuse(self) -> None:
        """Stop listening and drop everything: connecting fails at once."""
        await self._close()

    async def accept(self) -> None:
        """Listen (again), on the same port as before."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def open_connections(self) -> int:
        return len(self._handlers)

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._server is not None:
            await asyncio.sleep(0.02)  # asyncio loses a connection that it accepts just before it closes
            self._server.close()
            self._server = None
        for task in tuple(self._handlers):
            task.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        for writer in tuple(self._writers):
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        self._writers.clear()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._handlers.add(task)

        def end(done: "asyncio.Task[None]") -> None:
            # Here, as a task that is cancelled before its first step runs no clean-up of its own.
            self._handlers.discard(done)
            writer.transport.abort()

        task.add_done_callback(end)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            if self._target_port == 0:
                await self._drain(reader)
            else:
                await self._pass(reader, writer)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        link = _Link(self, self._swallowing)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._upwards(link, reader, far_writer))
                both.create_task(self._downwards(link, far_reader, writer))
        except* OSError:
            pass
        finally:
            far_writer.transport.abort()

    async def _upwards(self, link: "_Link", reader: asyncio.StreamReader, far: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            if link.silent:
                continue
            if self._silent_after is not None and self._silent_after in data:
                link.last_answer = True
            elif link.last_answer:
                link.dead = True
                continue
            far.write(data)
            await far.drain()
        far.transport.abort()  # the reading side of the same connection ends by this

    async def _downwards(
        self, link: "_Link", far: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await far.read(_CHUNK_BYTES):
            if link.silent:
                continue
            if self._rewrite is not None and b"application/sdp" in data:
                data = _rewritten(data, self._rewrite)
            writer.write(data)
            await writer.drain()
        if not link.silent:
            writer.transport.abort()

    @staticmethod
    async def _drain(reader: asyncio.StreamReader) -> None:
        while await reader.read(_CHUNK_BYTES):
            pass

    @property
    def swallowing(self) -> bool:
        return self._swallowing


class _Link:
    """One connection through the proxy. Once silent it stays so, whatever the proxy does for new ones."""

    def __init__(self, proxy: FaultProxy, dead: bool) -> None:
        self._proxy = proxy
        self.dead = dead
        self.last_answer = False

    @property
    def silent(self) -> bool:
        self.dead = self.dead or self._proxy.swallowing
        return self.dead


def _rewritten(answer: bytes, rewrite: Callable[[str], str]) -> bytes:
    """Change the body of one whole RTSP answer and its length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    changed = rewrite(body.decode()).encode()
    head = re.sub(rb"(?i)(content-length: *)\d+", rb"\g<1>%d" % len(changed), head)
    return head + b"\r\n\r\n" + changed


async def wait_until(condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Wait for a condition, bounded. Raises TimeoutError."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)
