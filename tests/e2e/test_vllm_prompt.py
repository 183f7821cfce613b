"""A real vLLM with the built-in model renders our questions as this process does, and takes their priorities."""

import asyncio
from uuid import uuid4

import pytest

from core.ids import CameraId
from livelens.decoder_prompt import PromptProbe, Verdict, sample
from models.openai_settings import OpenAISettings
from models.opening import read_builtin
from models.vllm_settings import VllmSettings
from qa.priority import CHAT_PRIORITY, live_priority
from tests.support.vllm_questions import ask, by_id, encode_shots, published
from tests.support.vllm_server import counter
from tests.support.vllm_shared import shared_vllm

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]


async def test_a_small_question_with_frames_is_rendered_alike_and_nothing_is_computed_for_it() -> None:
    served = await asyncio.to_thread(shared_vllm)
    refused = counter(served.url, "vllm:livelens_frames_refused_total")
    checkpoint = read_builtin()
    probe = PromptProbe(VllmSettings(OpenAISettings(served.url)), checkpoint)
    assert isinstance(await probe._theirs(sample(checkpoint, frames=2)), list), "it takes frame ids there too"
    found = await probe.look()
    assert (found.verdict, found.why) == (Verdict.SAME, "")
    assert counter(served.url, "vllm:livelens_frames_refused_total") == refused


async def test_priorities_of_both_lanes_are_taken_and_change_no_word() -> None:
    served = await asyncio.to_thread(shared_vllm)
    shots = await encode_shots(CameraId(f"prompt-{uuid4().hex[:8]}"), count=2)
    live = [live_priority(at_us, tokens=1_000) for at_us in (0, 1_795_000_000_000_000)]
    async with published(served.redis_url, shots):
        plain = await asyncio.to_thread(ask, served.url, by_id(shots, "What is there?"))
        for priority in (*live, CHAT_PRIORITY):
            request = by_id(shots, "What is there?") | {"priority": priority}
            assert (await asyncio.to_thread(ask, served.url, request)).text == plain.text
