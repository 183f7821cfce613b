"""The routes under /v1 as clients see them: plain HTTP here; the stock client in tests/e2e/test_chat_completions.py."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest

from models.decoder import Finish
from models.errors import DecoderUnavailable
from qa.chat_values import ChatDone, SentPicture
from qa.errors import ModelNotFound, PictureTooLarge
from tests.support.web_client import until
from tests.support.web_fakes import World, serving
from web.settings import WebSettings

CHAT = "/v1/chat/completions"
Json = dict[str, Any]


def body(**more: Any) -> Json:
    return {"model": "toy", "messages": [{"role": "user", "content": "what is it?"}], **more}


def with_picture(data: bytes = b"png") -> list[Json]:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what is it?"}]
    return [{"role": "user", "content": parts}]


def events(text: str) -> list[Any]:
    """Return what each server-sent event says; the last one of a whole stream is no JSON."""
    found = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in found]


async def test_an_answer_comes_in_one_piece(http: httpx2.AsyncClient, world: World) -> None:
    reply = await http.post(CHAT, json=body(messages=with_picture()))
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    assert reply.json()["choices"][0]["message"]["content"] == "A red circle."
    assert reply.json()["usage"]["total_tokens"] == 43
    (asked,) = world.chat.asked
    assert asked.messages[0].parts[0] == SentPicture(b"png")
    assert reply.headers["x-request-id"] == asked.id


async def test_a_streamed_answer_comes_as_chunks(http: httpx2.AsyncClient) -> None:
    reply = await http.post(CHAT, json=body(stream=True))
    assert reply.headers["content-type"].startswith("text/event-stream")
    *chunks, end = events(reply.text)
    assert end == "[DONE]"
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content", "") for delta in deltas) == "A red circle."
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 4 + ["stop"]
    assert [chunk["usage"] for chunk in chunks] == [None] * 5


async def test_the_usage_of_a_stream_comes_where_it_was_asked_for(http: httpx2.AsyncClient) -> None:
    reply = await http.post(CHAT, json=body(stream=True, stream_options={"include_usage": True}))
    *_, counted, end = events(reply.text)
    assert (counted["choices"], counted["usage"]["completion_tokens"], end) == ([], 3, "[DONE]")


async def test_an_answer_without_words_is_one_all_the_same(http: httpx2.AsyncClient, world: World) -> None:
    world.chat.words, world.chat.done = [], ChatDone(Finish.STOP)
    whole = await http.post(CHAT, json=body())
    streamed = events((await http.post(CHAT, json=body(stream=True))).text)
    assert whole.json()["choices"][0]["message"]["content"] == ""
    assert [chunk["choices"][0]["delta"] for chunk in streamed[:-1]] == [
        {"role": "assistant", "content": ""},
        {},
    ]


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_has_its_status_and_openais_shape(
    http: httpx2.AsyncClient, world: World, stream: bool
) -> None:
    cases = [
        (ModelNotFound("x", "toy"), 404, "model_not_found"),
        (PictureTooLarge.by_bytes(9), 413, "picture_too_large"),
        (DecoderUnavailable("gone"), 503, "decoder_unavailable"),
    ]
    for error, status, code in cases:
        world.chat.refuse = error
        reply = await http.post(CHAT, json=body(stream=stream))
        assert (reply.status_code, reply.headers["content-type"]) == (status, "application/json")
        assert reply.json()["error"]["code"] == code
        assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
    assert reply.headers["retry-after"] == "1"


async def test_requests_that_cannot_be_meant_are_refused_with_400(
    http: httpx2.AsyncClient, world: World
) -> None:
    far = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/x.png"}}]}
    ]
    cases: list[tuple[Json | list[Json], str, str | None]] = [
        (body(n=2), "unsupported_parameter", "n"),
        (body(tools=[{"type": "function"}]), "unsupported_parameter", "tools"),
        (body(temperature=3), "invalid_request", "temperature"),
        (body(messages=[]), "invalid_request", "messages"),
        ({"model": "toy"}, "invalid_request", "messages"),
        (body(messages=far), "picture_url_not_allowed", None),
        (body(messages=[{"role": "user", "content": [{"type": "video_url"}]}]), "invalid_request", None),
        ([], "invalid_request", None),
    ]
    for sent, code, param in cases:
        reply = await http.post(CHAT, json=sent)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, code), sent
        assert param is None or reply.json()["error"]["param"] == param
    assert world.chat.asked == []


async def test_bodies_that_are_no_json_are_refused(http: httpx2.AsyncClient) -> None:
    for sent in (b"{", b"\xff", b"[" * 100_000, b'{"model": "a", "messages": NaN}'):
        reply = await http.post(CHAT, content=sent, headers={"content-type": "application/json"})
        assert reply.status_code == 400
        assert reply.json()["error"]["code"] in {"malformed_json", "invalid_request"}


async def test_what_the_gate_refuses_has_the_same_shape(http: httpx2.AsyncClient) -> None:
    foreign = await http.post(CHAT, json=body(), headers={"origin": "https://evil.example"})
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "foreign_origin")
    method = await http.get(CHAT)
    assert (method.status_code, method.json()["error"]["code"]) == (405, "method_not_allowed")
    missing = await http.post("/v1/embeddings", json={})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "unknown_path")
    page = await http.get("/v1/nothing")
    assert (page.status_code, page.json()["error"]["code"]) == (404, "unknown_path")


@pytest.mark.logs_errors
async def test_a_crash_is_told_without_its_reason(http: httpx2.AsyncClient, world: World) -> None:
    world.chat.break_after = 0
    whole = await http.post(CHAT, json=body())
    assert (whole.status_code, whole.json()["error"]["code"]) == (500, "internal_error")
    world.chat.break_after = 1
    streamed = await http.post(CHAT, json=body(stream=True))
    assert events(streamed.text)[-1]["error"]["code"] == "internal_error"
    assert "the script says" not in whole.text + streamed.text


async def test_a_failure_amid_the_words_is_an_event_or_a_status(
    http: httpx2.AsyncClient, world: World
) -> None:
    world.chat.break_after, world.chat.broken = 2, DecoderUnavailable("gone")
    streamed = events((await http.post(CHAT, json=body(stream=True))).text)
    assert streamed[-1]["error"]["code"] == "decoder_unavailable"
    assert "[DONE]" not in streamed
    whole = await http.post(CHAT, json=body())
    assert (whole.status_code, whole.json()["error"]["code"]) == (503, "decoder_unavailable")


# ---------------------------------------------------------------- the stock client


@pytest.fixture
async def stock(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"http://{address}/v1", api_key="x", max_retries=1) as client:
        yield client


async def test_the_stock_client_reads_answers_chunks_and_models(
    stock: openai.AsyncOpenAI, world: World
) -> None:
    world.chat.done = ChatDone(Finish.LENGTH, world.chat.done.usage, "mind")
    asked: Any = body(messages=with_picture())
    whole = await stock.chat.completions.create(**asked)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("A red circle.", "length")
    assert whole.model_extra == {"notice": "mind"}
    world.chat.done = ChatDone(Finish.STOP, world.chat.done.usage)
    async with stock.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        said = [event.delta async for event in stream if event.type == "content.delta"]
        final = await stream.get_final_completion()
    assert [piece for piece in said if piece] == ["A ", "red ", "circle."]
    assert final.choices[0].message.content == "A red circle."
    assert final.usage is not None
    assert final.usage.total_tokens == 43
    assert [model.id async for model in await stock.models.list()] == ["toy"]
    assert (await stock.models.retrieve("toy")).id == "toy"


async def test_what_the_stock_client_hands_back_of_an_answer_can_be_sent_again(
    stock: openai.AsyncOpenAI, world: World
) -> None:
    whole = await stock.chat.completions.create(**body())
    spoken = whole.choices[0].message
    more: Any = [*body()["messages"], spoken, {"role": "user", "content": "sure?"}]
    await stock.chat.completions.create(model="toy", messages=more)
    more[1] = spoken.model_dump()
    await stock.chat.completions.create(model="toy", messages=more)
    assert [message.text for message in world.chat.asked[-1].messages] == [
        "what is it?",
        "A red circle.",
        "sure?",
    ]


async def test_the_stock_client_raises_what_it_documents(stock: openai.AsyncOpenAI, world: World) -> None:
    world.chat.refuse = ModelNotFound("x", "toy")
    with pytest.raises(openai.NotFoundError) as missing:
        await stock.chat.completions.create(**body())
    assert missing.value.code == "model_not_found"
    world.chat.refuse = None
    with pytest.raises(openai.BadRequestError) as wrong:
        await stock.chat.completions.create(**body(n=3))
    assert wrong.value.param == "n"
    world.chat.break_after, world.chat.broken = 1, DecoderUnavailable("gone")
    stream = await stock.chat.completions.create(**body(stream=True))
    with pytest.raises(openai.APIError, match="gone"):
        [chunk async for chunk in stream]


async def test_the_stock_client_tries_again_where_that_may_help(
    stock: openai.AsyncOpenAI, world: World
) -> None:
    world.chat.refuse = DecoderUnavailable("gone")
    with pytest.raises(openai.InternalServerError) as away:
        await stock.chat.completions.create(**body())
    assert away.value.status_code == 503
    assert len(world.chat.asked) == 2, "once more, as Retry-After says"


# ---------------------------------------------------------------- clients that leave, and too many of them


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("later", [False, True])
async def test_a_client_that_goes_away_aborts_its_answer(
    address: str, world: World, stream: bool, later: bool
) -> None:
    world.chat.gate.clear()
    world.chat.hold_later = later
    sent = json.dumps(body(stream=stream)).encode()
    _, writer = await asyncio.open_connection(*address.split(":"))
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    writer.write(head.encode() + sent)
    await until(lambda: world.chat.running == 1)
    writer.close()
    await until(lambda: world.chat.running == 0, within_s=2)
    assert world.chat.aborted == 1


async def test_dialogues_at_a_time_are_limited(world: World) -> None:
    world.settings = WebSettings(max_chats=1)
    world.chat.gate.clear()
    async with (
        serving(world.app(), world.settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
        asyncio.TaskGroup() as group,
    ):
        first = group.create_task(http.post(CHAT, json=body()))
        await until(lambda: world.chat.running == 1)
        refused = await http.post(CHAT, json=body())
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_questions")
        world.chat.gate.set()
        assert (await first).status_code == 200


async def test_a_stopping_server_ends_an_answer(world: World) -> None:
    world.chat.gate.clear()
    world.chat.hold_later = True
    text = ""

    async def ask(address: str) -> None:
        nonlocal text
        async with httpx2.AsyncClient(base_url=f"http://{address}") as http:
            text = (await http.post(CHAT, json=body(stream=True))).text

    async with asyncio.timeout(15), asyncio.TaskGroup() as group:
        async with serving(world.app(), world.settings) as address:
            group.create_task(ask(address))
            await until(lambda: world.chat.running == 1)
            await asyncio.sleep(0)
    assert not text or events(text)[-1]["error"]["code"] == "server_stopping"
    assert world.chat.aborted == 1


# ---------------------------------------------------------------- bodies


async def test_pictures_may_be_larger_than_other_bodies(http: httpx2.AsyncClient) -> None:
    assert (await http.post(CHAT, json=body(messages=with_picture(b"p" * 2_000_000)))).status_code == 200
    other = await http.post("/api/v1/ask", json={"text": "a" * 2_000_000})
    assert (other.status_code, other.json()["code"]) == (413, "body_too_large")


async def test_a_body_above_the_limit_is_refused_by_name(world: World) -> None:
    world.settings = WebSettings(max_chat_body_bytes=100_000)
    async with (
        serving(world.app(), world.settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
    ):
        reply = await http.post(CHAT, json=body(messages=with_picture(b"p" * 100_000)))
        assert (reply.status_code, reply.json()["error"]["code"]) == (413, "body_too_large")
        assert (await http.post(CHAT, json=body())).status_code == 200


async def test_bodies_of_all_requests_together_are_bounded(world: World) -> None:
    world.settings = WebSettings(max_chat_body_bytes=400_000, chat_bodies_bytes=400_000)
    world.chat.gate.clear()
    async with (
        serving(world.app(), world.settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
        asyncio.TaskGroup() as group,
    ):
        large = body(messages=with_picture(b"p" * 200_000))
        first = group.create_task(http.post(CHAT, json=large))
        await until(lambda: world.chat.running == 1)
        refused = await http.post(CHAT, json=large)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_uploads")
        world.chat.gate.set()
        assert (await first).status_code == 200
        assert (await http.post(CHAT, json=large)).status_code == 200


# ---------------------------------------------------------------- models


async def test_who_answers_is_listed(http: httpx2.AsyncClient, world: World) -> None:
    world.chat.names = ["Qwen/Qwen3-VL-2B-Instruct"]
    listed = (await http.get("/v1/models")).json()
    assert [model["id"] for model in listed["data"]] == ["Qwen/Qwen3-VL-2B-Instruct"]
    for path in ("/v1/models/Qwen/Qwen3-VL-2B-Instruct", "/v1/models/Qwen%2FQwen3-VL-2B-Instruct"):
        assert (await http.get(path)).json() == listed["data"][0]
    missing = await http.get("/v1/models/gpt-4o")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "model_not_found")


async def test_without_a_model_the_list_is_empty(http: httpx2.AsyncClient, world: World) -> None:
    world.chat.names = []
    assert (await http.get("/v1/models")).json() == {"object": "list", "data": []}
    missing = await http.get("/v1/models/toy")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no_model")


async def test_openapi_describes_the_routes(http: httpx2.AsyncClient) -> None:
    described = (await http.get("/openapi.json")).json()
    operation = described["paths"][CHAT]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/ChatForm")
    assert operation["responses"]["default"]["content"]["application/json"]["schema"]["$ref"].endswith(
        "/ErrorView"
    )
    assert "/v1/models" in described["paths"]
