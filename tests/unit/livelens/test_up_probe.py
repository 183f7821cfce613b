import asyncio
from pathlib import Path

import pytest

from livelens.ports import free_port
from livelens.up_parts import HttpAnswers, RedisAnswers
from livelens.up_probe import answers
from tests.support.redis_server import RedisServer


async def test_a_real_redis_answers_and_one_that_is_gone_does_not(tmp_path: Path) -> None:
    with RedisServer() as server:
        probe = RedisAnswers(server.folder / "redis.sock")
        assert await answers(probe)
        server.kill()
        assert not await answers(probe)


async def test_a_socket_that_says_something_else_is_not_ready(tmp_path: Path) -> None:
    async def loading(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"-LOADING Redis is loading the dataset in memory\r\n")
        writer.close()

    async with await asyncio.start_unix_server(loading, tmp_path / "s"):
        assert not await answers(RedisAnswers(tmp_path / "s"))


@pytest.mark.parametrize(("status", "ready"), [(b"200 OK", True), (b"503 Service Unavailable", False)])
async def test_an_address_is_ready_when_it_says_200(status: bytes, ready: bool) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(reply, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await answers(HttpAnswers(f"http://127.0.0.1:{port}/health")) is ready


async def test_nobody_there_is_not_ready() -> None:
    assert not await answers(HttpAnswers(f"http://127.0.0.1:{free_port()}/health"))


async def test_a_half_is_ready_when_its_side_channel_takes_connections_too() -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline():
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url, side = f"http://127.0.0.1:{port}/health", free_port()
        assert await answers(HttpAnswers(url, (("127.0.0.1", port),)))
        assert not await answers(HttpAnswers(url, (("127.0.0.1", port), ("127.0.0.1", side))))
