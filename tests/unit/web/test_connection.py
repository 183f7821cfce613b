import asyncio
from typing import Any, cast

import pytest
from starlette.websockets import WebSocket, WebSocketDisconnect

from web.connection import CLOSED, LOST, MOVED, STALLED, STOPPING, TOO_LARGE, Connection, Ending
from web.streams import Stopping


class FakeSocket:
    """What a connection uses of a WebSocket."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: list[str] = []
        self.closed: tuple[int, str] | None = None
        self.stuck = asyncio.Event()
        self.broken = False

    async def receive(self) -> dict[str, Any]:
        return await self.incoming.get()

    async def send_text(self, text: str) -> None:
        if self.broken:
            raise WebSocketDisconnect(1006)
        if self.stuck.is_set():
            await asyncio.get_running_loop().create_future()
        self.sent.append(text)

    async def close(self, code: int, reason: str) -> None:
        if self.stuck.is_set():
            await asyncio.get_running_loop().create_future()
        self.closed = (code, reason)


def over(socket: FakeSocket, *, stopping: Stopping | None = None) -> Connection:
    return Connection(cast(WebSocket, socket), stall_timeout_s=0.05, stopping=stopping or Stopping())


async def ignore(text: str | None) -> None:
    pass


@pytest.mark.parametrize(
    ("code", "ending"),
    [(1000, CLOSED), (1001, CLOSED), (1012, CLOSED), (1005, LOST), (1006, LOST), (1011, LOST)],
)
async def test_a_goodbye_is_told_from_a_loss(code: int, ending: Ending) -> None:
    socket = FakeSocket()
    socket.incoming.put_nowait({"type": "websocket.disconnect", "code": code})
    assert await over(socket).read(ignore) is ending


async def test_messages_are_handed_over_and_binary_ones_as_none() -> None:
    socket = FakeSocket()
    for message in ({"text": "a"}, {"bytes": b"b"}):
        socket.incoming.put_nowait({"type": "websocket.receive", **message})
    socket.incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})
    got: list[str | None] = []

    async def keep(text: str | None) -> None:
        got.append(text)

    await over(socket).read(keep)
    assert got == ["a", None]


async def test_reading_can_be_ended_and_begun_again() -> None:
    socket = FakeSocket()
    connection = over(socket)

    async def move(text: str | None) -> None:
        connection.end(MOVED)
        connection.end(TOO_LARGE)
        await asyncio.get_running_loop().create_future()

    socket.incoming.put_nowait({"type": "websocket.receive", "text": "a"})
    assert await connection.read(move) is MOVED, "the first ending counts"
    assert not connection.open
    socket.incoming.put_nowait({"type": "websocket.disconnect", "code": 1005})
    assert await connection.read(ignore) is LOST


async def test_a_stopping_server_ends_reading() -> None:
    stopping = Stopping()
    connection = over(FakeSocket(), stopping=stopping)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(connection.read(ignore))
        while not connection.open:
            await asyncio.sleep(0)
        stopping.begin()
    assert reading.result() is STOPPING


@pytest.mark.parametrize(("stuck", "ending"), [(True, STALLED), (False, LOST)])
async def test_a_send_that_fails_ends_the_connection(stuck: bool, ending: Ending) -> None:
    socket = FakeSocket()
    connection = over(socket)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(connection.read(ignore))
        while not connection.open:
            await asyncio.sleep(0)
        assert await connection.send("a")
        if stuck:
            socket.stuck.set()
        else:
            socket.broken = True
        assert not await connection.send("b")
    assert reading.result() is ending
    assert socket.sent == ["a"]


async def test_closing_sends_the_code_once_and_never_hangs() -> None:
    socket = FakeSocket()
    await over(socket).close(TOO_LARGE)
    assert socket.closed == (1009, "message too large")
    silent = FakeSocket()
    await over(silent).close(LOST)
    assert silent.closed is None
    silent.stuck.set()
    async with asyncio.timeout(2):
        await over(silent).close(STALLED)
