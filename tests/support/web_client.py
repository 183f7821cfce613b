"""A WebSocket client of the edges that remembers what it got."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from web import wire

WAIT_S = 5.0


class LiveClient:
    """One connection; ``seen`` holds every message read so far."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.seen: list[dict[str, Any]] = []

    @property
    def seq(self) -> int:
        """The number of the newest message read."""
        return max((int(message["seq"]) for message in self.seen), default=0)

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def ask(self, question_id: str, text: str = "what?", **more: Any) -> None:
        await self.say(type="ask", id=question_id, text=text, **more)

    async def next(self) -> dict[str, Any]:
        """Read one message, which must be one of the union."""
        async with asyncio.timeout(WAIT_S):
            text = await self.socket.recv()
        wire.SERVER_MESSAGES.validate_json(text)
        message: dict[str, Any] = json.loads(text)
        self.seen.append(message)
        return message

    async def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Read up to the first message of this type with these fields."""
        while True:
            message = await self.next()
            if message["type"] == kind and all(message.get(name) == value for name, value in fields.items()):
                return message

    async def error(self) -> str:
        """Read up to the next error; return its code."""
        return str((await self.until("error"))["code"])

    async def closing_code(self) -> int | None:
        """Read to the end; return the close code that the server sent, None where it just went away."""
        try:
            while True:
                await self.next()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None

    def text_of(self, question_id: str) -> str:
        """Return the words read so far of one answer."""
        return "".join(m["text"] for m in self.seen if m["type"] == "answer.delta" and m["id"] == question_id)


@asynccontextmanager
async def live(address: str, **options: Any) -> AsyncIterator[LiveClient]:
    """Open a session at ``127.0.0.1:<port>``."""
    wanted = {"subprotocols": ["livelens.v1"], "max_size": None, **options}
    async with connect(f"ws://{address}/api/v1/live", **wanted) as socket:
        yield LiveClient(socket)


async def until(condition: Callable[[], bool], *, within_s: float = WAIT_S) -> None:
    """Wait until ``condition()`` holds."""
    async with asyncio.timeout(within_s):
        while not condition():  # what is waited for has no event
            await asyncio.sleep(0.01)
