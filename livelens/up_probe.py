"""Asks a part whether it is up: one short question, one answer, never an error."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

import httpx2

from livelens.up_parts import HttpAnswers, Probe, RedisAnswers

TIMEOUT_S = 2.0


async def answers(probe: Probe) -> bool:
    """Return whether the part answers now; False also when it takes longer than two seconds."""
    match probe:
        case RedisAnswers():
            return await _redis_answers(probe.socket)
        case HttpAnswers():
            return await _http_answers(probe.url) and await _all_listen(probe.also)
        case _:
            assert_never(probe)


async def _http_answers(url: str) -> bool:
    try:
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
            return (await client.get(url)).status_code == 200
    except httpx2.HTTPError:
        return False


async def _all_listen(addresses: Sequence[tuple[str, int]]) -> bool:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            for host, port in addresses:
                _, writer = await asyncio.open_connection(host, port)
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError):
        return False
    return True


async def _redis_answers(socket: Path) -> bool:
    """Return whether a PING is answered; a Redis that is still loading says otherwise."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_unix_connection(str(socket))
            try:
                writer.write(b"PING\r\n")
                return await reader.readline() == b"+PONG\r\n"
            finally:
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError):
        return False
