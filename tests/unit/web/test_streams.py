import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from web.errors import NoPictureYet, TooManyViewers
from web.streams import Interrupted, Interruptible, Places, Stopping, StreamReply


class Peer:
    """The other side of an ASGI reply: keeps what it gets, may leave, may take nothing."""

    def __init__(self) -> None:
        self.got: list[Message] = []
        self.left = asyncio.Event()
        self.takes = asyncio.Event()
        self.takes.set()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.takes.wait()
        self.got.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.got)


class Chunks:
    """A generator that can be seen to be closed."""

    def __init__(self, count: int | None = None) -> None:
        self.closed = False
        self._count = count

    async def __call__(self) -> AsyncGenerator[bytes]:
        number = 0
        try:
            while self._count is None or number < self._count:
                yield b"%d;" % number
                number += 1
                await asyncio.sleep(0)
        finally:
            self.closed = True


def reply(
    chunks: AsyncGenerator[bytes], *, stopping: Stopping | None = None, places: Places | None = None,
    stall_timeout_s: float = 5.0,
) -> StreamReply:  # fmt: skip
    return StreamReply(
        chunks,
        media_type="text/plain",
        stopping=stopping or Stopping(),
        stall_timeout_s=stall_timeout_s,
        places=places or Places(1, TooManyViewers),
        last_words=lambda error: f"bye:{error.code}".encode(),
    )


async def run(stream: StreamReply, peer: Peer) -> None:
    async with asyncio.timeout(5):
        await stream({"type": "http", "method": "GET", "path": "/"}, peer.receive, peer.send)


async def test_a_stream_sends_everything_and_ends() -> None:
    peer, chunks = Peer(), Chunks(3)
    await run(reply(chunks()), peer)
    assert peer.got[0]["status"] == 200
    assert peer.body == b"0;1;2;"
    assert peer.got[-1]["more_body"] is False
    assert chunks.closed


async def test_an_empty_stream_is_an_empty_reply() -> None:
    peer = Peer()
    await run(reply(Chunks(0)()), peer)
    assert [message["type"] for message in peer.got] == ["http.response.start", "http.response.body"]


async def test_an_error_before_the_first_chunk_is_a_problem_and_frees_the_place() -> None:
    async def refuses() -> AsyncGenerator[bytes]:
        nothing: tuple[bytes, ...] = ()
        for chunk in nothing:
            yield chunk
        raise NoPictureYet

    peer, places = Peer(), Places(1, TooManyViewers)
    await run(reply(refuses(), places=places), peer)
    assert peer.got[0]["status"] == 404
    assert places.taken == 0


async def test_an_error_later_ends_the_stream() -> None:
    async def breaks() -> AsyncGenerator[bytes]:
        yield b"a"
        raise NoPictureYet

    peer = Peer()
    await run(reply(breaks()), peer)
    assert (peer.got[0]["status"], peer.got[-1]["more_body"]) == (200, False)
    assert peer.body == b"abye:no_picture_yet"


@pytest.mark.logs_errors
async def test_a_crash_is_told_without_its_cause() -> None:
    async def crashes() -> AsyncGenerator[bytes]:
        yield b"a"
        raise RuntimeError("secret")

    peer = Peer()
    await run(reply(crashes()), peer)
    assert peer.body == b"abye:internal_error"


async def test_a_client_that_leaves_closes_the_generator() -> None:
    peer, chunks = Peer(), Chunks()
    async with asyncio.TaskGroup() as group:
        group.create_task(run(reply(chunks()), peer))
        while not peer.got:
            await asyncio.sleep(0)
        peer.left.set()
    assert chunks.closed


async def test_a_client_that_takes_nothing_closes_the_generator_and_may_still_read_the_end() -> None:
    peer, chunks, places = Peer(), Chunks(), Places(1, TooManyViewers)
    async with asyncio.TaskGroup() as group:
        group.create_task(run(reply(chunks(), stall_timeout_s=0.05, places=places), peer))
        while not peer.got:
            await asyncio.sleep(0)
        peer.takes.clear()
        while not chunks.closed:
            await asyncio.sleep(0.01)
        assert places.taken == 0
        peer.takes.set()
    assert peer.got[-1]["more_body"] is False


async def test_a_stalled_client_does_not_hold_up_a_stop() -> None:
    peer, chunks, stopping = Peer(), Chunks(), Stopping()
    async with asyncio.timeout(2), asyncio.TaskGroup() as group:
        group.create_task(run(reply(chunks(), stall_timeout_s=0.05, stopping=stopping), peer))
        while not peer.got:
            await asyncio.sleep(0)
        peer.takes.clear()
        while not chunks.closed:
            await asyncio.sleep(0.01)
        stopping.begin()


async def test_a_stopping_server_ends_streams_with_a_farewell_and_begins_no_more() -> None:
    peer, chunks, stopping = Peer(), Chunks(), Stopping()
    async with asyncio.TaskGroup() as group:
        group.create_task(run(reply(chunks(), stopping=stopping), peer))
        while not peer.got:
            await asyncio.sleep(0)
        stopping.begin()
    assert chunks.closed
    assert peer.body.endswith(b"bye:server_stopping")
    late = Peer()
    await run(reply(Chunks()(), stopping=stopping), late)
    assert late.got[0]["status"] == 503


async def test_places_are_limited_and_given_back() -> None:
    places = Places(1, TooManyViewers)
    with places.take():
        with pytest.raises(TooManyViewers), places.take():
            pass
    with places.take():
        assert places.taken == 1


async def test_a_block_is_interrupted_from_outside_also_before_it_begins() -> None:
    early = Interruptible()
    early.interrupt()
    with pytest.raises(Interrupted):
        async with early:
            await asyncio.get_running_loop().create_future()


async def test_interrupting_what_has_ended_does_nothing() -> None:
    scope = Interruptible()
    async with scope:
        pass
    scope.interrupt()
    await asyncio.sleep(0)


async def test_an_interruption_is_told_from_a_timeout_and_a_cancellation_inside() -> None:
    with pytest.raises(TimeoutError):
        async with Interruptible():
            raise TimeoutError

    async def hang() -> None:
        async with Interruptible():
            await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
