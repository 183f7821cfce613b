"""Prefill and decode apart: two real vLLM behind the real router, frames by id from Redis, KV over NIXL."""

import asyncio
import json
from uuid import uuid4

import httpx2
import pytest

from core.ids import CameraId
from tests.support.vllm_questions import ask, by_id, by_ids, encode_shots, published
from tests.support.vllm_server import counter
from tests.support.vllm_shared import shared_split, shared_vllm

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(1500)]

QUESTIONS = ("What is there?", "What happened?")
TRANSFERS = "vllm:nixl_xfer_time_seconds_count"
LOADED = "vllm:livelens_frames_loaded_total"


async def test_the_halves_give_the_words_of_the_whole_and_decode_reads_no_frame() -> None:
    whole, split = await asyncio.to_thread(shared_vllm), await asyncio.to_thread(shared_split)
    prefill_url, decode_url = split.engine_urls
    shots = await encode_shots(CameraId(f"split-{uuid4().hex[:8]}"), count=8)
    async with published(split.redis_url, shots):
        transfers, loaded = counter(decode_url, TRANSFERS), counter(prefill_url, LOADED)
        decoded = counter(decode_url, LOADED)
        for count, question in ((2, QUESTIONS[0]), (8, QUESTIONS[0]), (8, QUESTIONS[1])):
            request = by_id(shots[:count], question)
            expected = await asyncio.to_thread(ask, whole.url, request)
            found = await asyncio.to_thread(ask, split.url, request)
            assert found.status == 200, found.body
            assert found.text == expected.text
            assert found.prompt_tokens == expected.prompt_tokens
        assert counter(prefill_url, LOADED) > loaded
        assert counter(decode_url, TRANSFERS) > transfers, "KV came over NIXL"
        assert counter(decode_url, LOADED) == decoded, "the decode half never looked at a frame"

        request = by_id(shots, QUESTIONS[0], stream=True)
        assert (
            await streamed(split.url, request)
            == (await asyncio.to_thread(ask, whole.url, by_id(shots, QUESTIONS[0]))).text
        )

        bad = by_ids([shots[0].frame.ref, "nobody"], shots[0], QUESTIONS[0])
        failed, good = await asyncio.gather(
            asyncio.to_thread(ask, split.url, bad),
            asyncio.to_thread(ask, split.url, by_id(shots, QUESTIONS[0])),
        )
        assert failed.status >= 500
        assert good.status == 200, good.body
        for _ in range(12):  # more than the failures in a row after which a breaker would open
            assert (await asyncio.to_thread(ask, split.url, bad)).status >= 500
        after = await asyncio.to_thread(ask, split.url, by_id(shots, QUESTIONS[0]))
        assert after.text == good.text
        alone = await asyncio.to_thread(ask, decode_url, by_id(shots, QUESTIONS[0]))
        assert alone.text == good.text, (
            "the decode half can compute a prompt itself, as it does where KV is lost"
        )
        for url in (split.url, *split.engine_urls):
            async with httpx2.AsyncClient(timeout=10, trust_env=False) as client:
                assert (await client.get(f"{url}/health")).status_code == 200


async def streamed(url: str, request: dict[str, object]) -> str:
    """Return the words of a streamed answer."""
    words: list[str] = []
    async with (
        httpx2.AsyncClient(timeout=120, trust_env=False) as client,
        client.stream("POST", f"{url}/v1/chat/completions", json=request) as reply,
    ):
        async for line in reply.aiter_lines():
            if line.startswith("data: {"):
                message = json.loads(line.removeprefix("data: "))
                words += [choice["delta"].get("content") or "" for choice in message["choices"]]
    return "".join(words)
