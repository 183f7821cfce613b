import asyncio
import json
import logging
from typing import Any

import httpx2
import pytest

from core.ids import CameraId
from featcache.errors import WindowUnavailable
from tests.support.web_fakes import World, serving
from web import wire
from web.asking import sse
from web.settings import WebSettings

ASK = "/api/v1/ask"


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return name and data of each server-sent event."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields["event"], json.loads(fields["data"])))
    return found


async def until(condition: object) -> None:
    """Wait until ``condition()`` is true, at most 5 s."""
    assert callable(condition)
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.01)


def test_an_event_is_named_by_its_message_and_fits_on_one_line() -> None:
    text = sse(wire.AnswerDeltaMessage(seq=2, id="a", text="x\ny\r\n")).decode()
    assert text.startswith("event: answer.delta\nid: 2\ndata: {")
    assert text.count("\n") == 4


async def test_an_answer_comes_as_events_named_like_messages(http: httpx2.AsyncClient, world: World) -> None:
    world.asker.words = ["ď", "🔥", " two\nlines"]
    reply = await http.post(ASK, json={"text": "what?", "cameras": ["gate"], "window": {"last_s": 30}})
    assert reply.headers["content-type"].startswith("text/event-stream")
    told = events(reply.text)
    assert [name for name, _ in told] == ["answer.started", *["answer.delta"] * 3, "answer.done"]
    assert [data["seq"] for _, data in told] == [1, 2, 3, 4, 5]
    assert "".join(data["text"] for name, data in told if name == "answer.delta") == "ď🔥 two\nlines"
    assert len({data["id"] for _, data in told}) == 1
    for _, data in told:
        wire.SERVER_MESSAGES.validate_python(data)


async def test_a_question_that_cannot_be_answered_is_a_problem_with_its_status(
    http: httpx2.AsyncClient, world: World
) -> None:
    unknown = await http.post(ASK, json={"text": "what?", "cameras": ["none"]})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_camera")
    world.asker.refuse = WindowUnavailable(CameraId("gate"))
    away = await http.post(ASK, json={"text": "what?"})
    assert (away.status_code, away.json()["code"], away.headers["retry-after"]) == (
        503,
        "window_unavailable",
        "1",
    )


async def test_a_failure_amid_the_words_is_an_event(http: httpx2.AsyncClient, world: World) -> None:
    world.asker.break_after, world.asker.broken = 2, WindowUnavailable(CameraId("gate"))
    told = events((await http.post(ASK, json={"text": "what?"})).text)
    assert [name for name, _ in told] == ["answer.started", "answer.delta", "answer.delta", "error"]
    assert told[-1][1]["code"] == "window_unavailable"


@pytest.mark.logs_errors
async def test_a_crash_amid_the_words_ends_the_stream_and_not_the_server(
    http: httpx2.AsyncClient, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.asker.break_after = 1
    with caplog.at_level(logging.ERROR):
        told = events((await http.post(ASK, json={"text": "what?"})).text)
    assert told[-1][0] == "error"
    assert told[-1][1]["code"] == "internal_error"
    assert "the script says" not in json.dumps(told)
    assert any(record.exc_info for record in caplog.records)
    assert (await http.get("/healthz")).status_code == 200


async def test_a_client_that_goes_away_aborts_its_answer(http: httpx2.AsyncClient, world: World) -> None:
    world.asker.gate.clear()
    async with http.stream("POST", ASK, json={"text": "what?"}) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data:"):
                break
        assert world.asker.running == 1
    async with asyncio.timeout(2):
        while world.asker.running:
            await asyncio.sleep(0.01)
    assert world.asker.aborted == 1


async def test_a_client_that_goes_away_before_the_first_word_aborts_too(address: str, world: World) -> None:
    world.asker.words = ["a"]
    world.asker.gate.clear()
    world.asker.hold_first = True
    body = b'{"text":"what?"}'
    reader, writer = await asyncio.open_connection(*address.split(":"))
    head = f"POST {ASK} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await until(lambda: world.asker.running == 1)
    writer.close()
    async with asyncio.timeout(2):
        while world.asker.running:
            await asyncio.sleep(0.01)
    assert world.asker.aborted == 1
    del reader


async def test_answers_at_a_time_are_limited(world: World) -> None:
    settings = WebSettings(max_asks=1)
    world.settings = settings
    world.asker.gate.clear()
    async with (
        serving(world.app(), settings) as address,
        httpx2.AsyncClient(base_url=f"http://{address}") as http,
    ):
        async with http.stream("POST", ASK, json={"text": "what?"}):
            refused = await http.post(ASK, json={"text": "and?"})
            assert (refused.status_code, refused.json()["code"]) == (503, "too_many_questions")
        await until(lambda: world.asker.running == 0)


async def test_a_stopping_server_says_so_in_the_stream(world: World) -> None:
    world.asker.gate.clear()
    text = ""

    async def ask(address: str) -> None:
        nonlocal text
        async with httpx2.AsyncClient(base_url=f"http://{address}") as http:
            text = (await http.post(ASK, json={"text": "what?"})).text

    async with asyncio.timeout(4), asyncio.TaskGroup() as group:
        async with serving(world.app(), world.settings) as address:
            group.create_task(ask(address))
            await until(lambda: world.asker.running == 1)
    assert [data.get("code") for _, data in events(text)] == [None, "server_stopping"]
    assert world.asker.aborted == 1
