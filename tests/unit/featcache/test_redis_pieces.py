"""Values in pieces reach the server whole, whatever their size, and so do the commands around them."""

import pytest

from featcache.redis_link import RedisLink
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
