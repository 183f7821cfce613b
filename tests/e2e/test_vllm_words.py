"""A hundred questions of the accuracy bench, by ids through a real vLLM: word for word what our own engine says."""

import asyncio

import pytest

from tests.support.vllm_server import VllmServer
from tests.support.vllm_shared import shared_vllm
from tests.support.vllm_words import recorded

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]

SCENES, QUESTIONS, LEAST = 5, 100, 95


async def test_in_float32_nearly_all_words_are_those_of_our_own_engine_and_bfloat16_is_told_beside_it() -> (
    None
):
    served = await asyncio.to_thread(shared_vllm)
    with VllmServer(redis_url=served.redis_url, dtype="bfloat16").begun() as short:
        async with recorded(served.redis_url, scenes=SCENES, questions=QUESTIONS) as asked:
            exact = await asked.compare(served.url)
            print(f"float32: {exact}")
            await asyncio.to_thread(short.wait_ready)
            print(f"bfloat16: {await asked.compare(short.url)}")
    assert exact.asked == QUESTIONS
    assert exact.same >= LEAST
