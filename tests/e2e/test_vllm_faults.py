"""What a real decoder does when Redis or its own engine is killed."""

import asyncio
import os
import signal
import time

import httpx2
import pytest

from core.ids import CameraId
from tests.support.redis_server import RedisServer
from tests.support.vllm_questions import ask, by_id, encode_shots, inline, published
from tests.support.vllm_server import VllmServer

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]


async def test_redis_killed_fails_questions_by_id_quickly_and_the_engine_answers_on_and_its_own_end_is_seen() -> (
    None
):
    with RedisServer() as redis, VllmServer(redis_url=redis.tcp_url) as vllm:
        shots = await encode_shots(CameraId("gate"), count=8)
        first, fresh = shots[:3], shots[3:6]
        async with published(redis.tcp_url, shots):
            expected = (await asyncio.to_thread(ask, vllm.url, by_id(first, "What is there?"))).text
            assert expected

            redis.kill()
            started_s = time.monotonic()
            lost = await asyncio.to_thread(ask, vllm.url, by_id(fresh, "What is there?"))
            assert lost.status == 500
            assert time.monotonic() - started_s < 10
            kept = await asyncio.to_thread(ask, vllm.url, by_id(first, "What happened?"))
            assert kept.status == 200, "its frames are here already"
            carried = await asyncio.to_thread(ask, vllm.url, inline(fresh, "What is there?"))
            assert carried.status == 200

            redis.start()
            gone = await asyncio.to_thread(ask, vllm.url, by_id(fresh, "What is there?"))
            assert gone.status == 500, "Redis came back empty"
        async with published(redis.tcp_url, shots):
            again = await asyncio.to_thread(ask, vllm.url, by_id(fresh, "What is there?"))
            assert again.text == carried.text

        await asyncio.to_thread(_the_end_of_the_engine_is_the_end_of_the_command, vllm)


def _the_end_of_the_engine_is_the_end_of_the_command(vllm: VllmServer) -> None:
    os.kill(vllm.engine_pid(), signal.SIGKILL)
    assert vllm.wait_ended(30) != 0
    with pytest.raises(httpx2.TransportError):
        httpx2.get(f"{vllm.url}/health", timeout=2, trust_env=False)
    assert vllm.survivors() == []
