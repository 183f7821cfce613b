"""A real vLLM with the built-in model reads frames by id from a real Redis, filled by featcache."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest

from core.ids import CameraId
from tests.support.vllm_questions import (
    Reply,
    Shot,
    ask,
    by_id,
    by_ids,
    by_pixels,
    damaged,
    draw,
    encode_shots,
    inline,
    life_of,
    overwrite,
    published,
)
from tests.support.vllm_server import counter
from tests.support.vllm_shared import Served, shared_vllm, showing_pictures, undisturbed

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]

QUESTIONS = ("What is there?", "What happened?")


@pytest.fixture(scope="module")
def served() -> Served:
    return shared_vllm()


@pytest.fixture(scope="module")
def drawn(served: Served) -> tuple[Shot, ...]:
    return asyncio.run(encode_shots(CameraId("gate"), count=8))


@pytest.fixture
async def shots(served: Served, drawn: tuple[Shot, ...]) -> AsyncIterator[tuple[Shot, ...]]:
    """The same pictures, of a camera that only this test knows."""
    camera_id = CameraId(f"whole-{uuid4().hex[:8]}")
    mine = tuple(shot.of(camera_id) for shot in drawn)
    async with published(served.redis_url, mine):
        yield mine


async def test_pixels_inline_features_and_frame_ids_give_the_same_words(
    served: Served, shots: tuple[Shot, ...]
) -> None:
    for question in QUESTIONS:
        async with showing_pictures():
            shown, carried = [
                await asyncio.to_thread(ask, served.url, make(shots, question))
                for make in (by_pixels, inline)
            ]
        named, again = [await asyncio.to_thread(ask, served.url, by_id(shots, question)) for _ in range(2)]
        assert named.status == 200, named.body
        assert named.text
        assert shown.text == carried.text == named.text == again.text
        assert shown.prompt_tokens == carried.prompt_tokens == named.prompt_tokens


async def test_a_question_by_id_moves_no_pictures_and_a_second_one_finds_its_blocks(
    served: Served, shots: tuple[Shot, ...]
) -> None:
    loaded, hits = (
        counter(served.url, name)
        for name in ("vllm:livelens_frames_loaded_total", "vllm:prefix_cache_hits_total")
    )
    async with undisturbed():
        encoded = counter(served.url, "vllm:livelens_pictures_encoded_total")
        await asyncio.to_thread(ask, served.url, by_id(shots, QUESTIONS[0]))
        assert counter(served.url, "vllm:livelens_pictures_encoded_total") == encoded
        fresh = [Shot(draw(900 + n), shots[n].frame) for n in range(2)]
        await asyncio.to_thread(ask, served.url, by_pixels(fresh, QUESTIONS[0]))
        assert counter(served.url, "vllm:livelens_pictures_encoded_total") == encoded + 2
    assert counter(served.url, "vllm:livelens_frames_loaded_total") >= loaded + len(shots)
    second = await asyncio.to_thread(ask, served.url, by_id(shots, QUESTIONS[1]))
    assert second.status == 200
    whole_blocks = (second.prompt_tokens - 20) // 128 * 128
    assert counter(served.url, "vllm:prefix_cache_hits_total") >= hits + whole_blocks > hits


@pytest.mark.parametrize("change", ["short", "pickle", "nan", "width", "dtype", "tokens"])
async def test_a_forged_frame_fails_its_own_question_only(
    served: Served, shots: tuple[Shot, ...], change: str
) -> None:
    refused = counter(served.url, "vllm:livelens_frames_refused_total")
    forged = shots[3].frame
    overwrite(served.redis_url, life_of(forged.camera_id), forged, damaged(forged, change))
    bad, good = await asyncio.gather(
        asyncio.to_thread(ask, served.url, by_id(shots, QUESTIONS[0])),
        asyncio.to_thread(ask, served.url, by_id([*shots[:3], *shots[4:]], QUESTIONS[0])),
    )
    assert bad.status == 500
    assert good.status == 200, good.body
    assert counter(served.url, "vllm:livelens_frames_refused_total") > refused
    assert healthy(served)


async def test_an_id_that_nobody_has_fails_its_own_question_only(
    served: Served, shots: tuple[Shot, ...]
) -> None:
    ref = shots[0].frame.ref
    others = ["no id of a frame", ref.replace(ref.split("/")[2], "f" * 12), ref.replace("/17", "/18")]
    asked = [by_ids([ref, other], shots[0], QUESTIONS[0]) for other in others]
    replies = await asyncio.gather(
        *(asyncio.to_thread(ask, served.url, request) for request in asked),
        asyncio.to_thread(ask, served.url, by_id(shots, QUESTIONS[0])),
    )
    assert [reply.status for reply in replies] == [500, 500, 500, 200]
    assert healthy(served)


async def test_in_a_stream_it_is_an_error_object_and_no_word_comes(
    served: Served, shots: tuple[Shot, ...]
) -> None:
    asked = by_ids([shots[0].frame.ref, "nobody"], shots[0], QUESTIONS[0], stream=True)
    async with (
        httpx2.AsyncClient(timeout=60, trust_env=False) as client,
        client.stream("POST", f"{served.url}/v1/chat/completions", json=asked) as reply,
    ):
        lines = [
            line.removeprefix("data: ") async for line in reply.aiter_lines() if line.startswith("data: {")
        ]
    messages = [json.loads(line) for line in lines]
    assert any("error" in message for message in messages)
    words = [c["delta"].get("content") for m in messages for c in m.get("choices", [])]
    assert not any(words)


async def test_a_wrong_grid_fails_its_own_question_only(served: Served, shots: tuple[Shot, ...]) -> None:
    request = by_id(shots[:2], QUESTIONS[0])
    for part in request["messages"][0]["content"]:
        if part["type"] == "image_embeds":
            part["image_embeds"]["image_grid_thw"] = [1, 4, 20]
    bad: Reply = await asyncio.to_thread(ask, served.url, request)
    good: Reply = await asyncio.to_thread(ask, served.url, by_id(shots, QUESTIONS[0]))
    assert (bad.status, good.status) == (500, 200)


async def test_many_questions_at_once_from_two_cameras_are_all_answered_as_alone(
    served: Served, shots: tuple[Shot, ...]
) -> None:
    halves = (shots[:5], shots[5:])
    alone = [(await asyncio.to_thread(ask, served.url, by_id(half, QUESTIONS[0]))).text for half in halves]
    replies = await asyncio.gather(
        *(asyncio.to_thread(ask, served.url, by_id(halves[n % 2], QUESTIONS[0])) for n in range(12))
    )
    assert [reply.text for reply in replies] == [alone[n % 2] for n in range(12)]


def healthy(served: Served) -> bool:
    with httpx2.Client(timeout=10, trust_env=False) as client:
        return client.get(f"{served.url}/health").status_code == 200
