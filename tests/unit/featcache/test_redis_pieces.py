"""Values in pieces reach the server whole, whatever their size, and so do the commands around them."""

import asyncio
from contextlib import suppress

import pytest

from featcache.errors import WindowUnavailable
from featcache.redis_link import Fault, RedisLink
from featcache.redis_pieces import Pieces
from featcache.redis_settings import RedisSettings
from tests.support.redis_server import RedisServer, shared_server
from tests.support.windows import GATE

SIZES = [
    (),
    (b"",),
    (b"a", b"", b"bc"),
    (b"x" * 70_000,),
    (b"h" * 64, b"y" * 3_000_000, b"z" * 7_000, b"end"),
]


@pytest.mark.parametrize("parts", SIZES, ids=lambda parts: str(sum(map(len, parts))))
async def test_a_value_in_pieces_is_stored_as_their_concatenation(parts: tuple[bytes, ...]) -> None:
    link = RedisLink(RedisSettings(url=shared_server().url))
    pieces = Pieces([*parts, memoryview(b"--view--")[2:6]])
    stored, read = await link.run(GATE, [("SET", "key", pieces, "PX", 9000), ("GET", "key")])
    assert stored
    assert read == pieces.join() == b"".join(parts) + b"view"
    assert len(pieces) == len(read)
    await link.aclose()


async def test_many_large_commands_in_one_go_keep_their_order() -> None:
    with RedisServer() as server:
        link = RedisLink(RedisSettings(url=server.tcp_url))
        commands = [("SET", f"k{n}", Pieces([bytes([n]) * 500_000, b"!"])) for n in range(20)]
        await link.run(GATE, [*commands, ("SET", "plain", b"p" * 300_000)])
        values = await link.run(GATE, [("GET", f"k{n}") for n in range(20)])
        assert values == [bytes([n]) * 500_000 + b"!" for n in range(20)]
        assert await link.run(GATE, [("STRLEN", "plain")]) == [300_000]
        await link.aclose()


@pytest.mark.parametrize("protocol", [2, 3])
async def test_large_replies_come_whole_alone_in_lists_and_between_small_ones(protocol: int) -> None:
    link = RedisLink(RedisSettings(url=shared_server().url, protocol=protocol))
    values = [bytes([n]) * size for n, size in enumerate((1, 70_000, 0, 65_536, 65_535, 1_000_000))]
    for n, value in enumerate(values):
        await link.run(GATE, [("SET", f"k{n}", value)])
    keys = [f"k{n}" for n in range(len(values))]
    got = await link.run(GATE, [("MGET", *keys, "nothing"), ("PING",), *(("GET", key) for key in keys)])
    assert got[0] == [*values, None]
    assert got[2:] == values
    assert link.fault is None
    await link.aclose()


async def test_a_connection_that_ends_in_mid_reply_is_a_window_that_does_not_answer() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"$100000\r\n" + bytes(70_000))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(half, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        # Its first reply is taken for that to the greeting.
        link = RedisLink(RedisSettings(url=f"redis://127.0.0.1:{port}", reply_timeout_us=500_000))
        with pytest.raises(WindowUnavailable):
            await link.run(GATE, [("GET", "key")])
        assert link.fault is Fault.AWAY
        await link.aclose()


async def test_a_read_given_up_in_the_middle_leaves_a_link_that_works() -> None:
    with RedisServer() as server:
        link = RedisLink(RedisSettings(url=server.url))
        await link.run(GATE, [("SET", "big", bytes(20_000_000))])
        for turns in range(2, 40, 5):
            task = asyncio.create_task(link.run(GATE, [("GET", "big")]))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert await link.run(GATE, [("ECHO", "new")]) == [b"new"]
        await link.aclose()
