"""One open WebSocket: reads that can be interrupted, sends that cannot hang."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.websockets import WebSocket, WebSocketDisconnect

from web.streams import Interrupted, Interruptible, Stopping

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection ended.

    Attributes:
        code: The close code to send; None where the other side is gone already or the socket goes on elsewhere.
        final: Nobody comes back to the session: its answers are given up at once.
    """

    code: int | None
    reason: str
    final: bool


LOST = Ending(None, "connection lost", False)
CLOSED = Ending(None, "closed by the client", True)
MOVED = Ending(None, "goes on with an earlier session", True)
STALLED = Ending(1008, "messages were not taken in time", True)
TOO_LARGE = Ending(1009, "message too large", True)
STOPPING = Ending(1012, "the server is stopping", True)
FAILED = Ending(1011, "a fault inside; the server's log has it", True)
GONE = Ending(1013, "the session to go on with has ended", True)
TAKEN_OVER = Ending(4001, "resumed by another connection", False)

# A client that says goodbye does not come back; 1012 is the server's own word for stopping.
_GOODBYES = frozenset({1000, 1001, 1012})


class Connection:
    """One WebSocket that has been accepted, on one loop."""

    def __init__(self, socket: WebSocket, *, stall_timeout_s: float, stopping: Stopping) -> None:
        self._socket = socket
        self._stall_timeout_s = stall_timeout_s
        self._stopping = stopping
        self._ending: Ending | None = None
        self._scope: Interruptible | None = None

    @property
    def open(self) -> bool:
        """Whether somebody reads, and nothing has ended the connection."""
        return self._scope is not None and self._ending is None

    async def read(self, on_message: Callable[[str | None], Awaitable[None]]) -> Ending:
        """Hand over each message, None for a binary one, until the connection ends; return why it did.

        May be called again after MOVED. The socket is not closed: ``close`` does that.
        """
        self._ending = None
        self._scope = Interruptible()
        try:
            async with self._scope:
                with self._stopping.interrupting(self._scope):
                    while True:
                        message = await self._socket.receive()
                        if message["type"] == "websocket.disconnect":
                            return CLOSED if message.get("code") in _GOODBYES else LOST
                        await on_message(message.get("text"))
        except Interrupted:
            return self._ending or STOPPING
        finally:
            self._scope = None

    def end(self, ending: Ending) -> None:
        """Let ``read`` return ``ending`` now."""
        if self._scope is not None and self._ending is None:
            self._ending = ending
            self._scope.interrupt()

    async def send(self, text: str) -> bool:
        """Send one message; return False, and end the connection, where it is gone or takes nothing."""
        try:
            async with asyncio.timeout(self._stall_timeout_s):
                await self._socket.send_text(text)
        except TimeoutError:
            logger.info("client took nothing; its session is ended")
            self.end(STALLED)
            return False
        except (WebSocketDisconnect, RuntimeError):  # gone; RuntimeError: we have closed it ourselves
            self.end(LOST)
            return False
        return True

    async def close(self, ending: Ending) -> None:
        """Close the socket with the ending's code, within a second."""
        if ending.code is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._socket.close(ending.code, ending.reason)
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            logger.debug("socket was gone before it was closed")
