import asyncio
import json
import logging
import random
import socket
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed

from core.cameras import CameraState
from core.ids import CameraId
from featcache.errors import WindowUnavailable
from tests.support.web_client import live, until
from tests.support.web_fakes import GATE, World, serving
from web.settings import WebSettings


def tasks() -> set[str]:
    """Return the names of the running tasks of sessions."""
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("web:")}


async def test_a_session_begins_with_its_name_and_the_cameras(address: str) -> None:
    async with live(address) as client:
        ready = await client.next()
        assert (ready["type"], ready["seq"], ready["resumed"]) == ("session.ready", 1, False)
        assert ready["max_message_bytes"] == 2 << 20
        state = await client.until("camera.state", camera="gate")
        assert state["state"]["state"] == "connecting"


async def test_an_answer_comes_word_by_word_under_the_clients_id(address: str, world: World) -> None:
    world.asker.words = ["ď", "🔥", "!"]
    async with live(address) as client:
        await client.ask("q1", cameras=["gate"], window={"last_s": 5}, conversation="conv_1", max_tokens=9)
        done = await client.until("answer.done")
        assert (done["id"], done["outcome"], done["model"]) == ("q1", "ok", "measured")
        assert client.text_of("q1") == "ď🔥!"
        assert [message["seq"] for message in client.seen] == list(range(1, len(client.seen) + 1))
    question = world.asker.asked[0]
    assert (question.cameras, question.conversation, question.max_tokens) == (("gate",), "conv_1", 9)
    assert question.id != "q1", "clients may use the same ids"


async def test_two_questions_at_once_are_answered_side_by_side(address: str, world: World) -> None:
    world.asker.words = list("abcdefgh")
    world.asker.pause_s = 0.005
    async with live(address) as client:
        await client.ask("one")
        await client.ask("two")
        for _ in range(2):
            await client.until("answer.done")
        order = [message["id"] for message in client.seen if message["type"] == "answer.delta"]
        assert client.text_of("one") == client.text_of("two") == "abcdefgh"
        assert order.index("two") < len(order) - 1 - order[::-1].index("one"), "they interleave"


async def test_whatever_arrives_the_session_answers_the_next_question(address: str) -> None:
    letters = random.Random(38)
    shapes = [
        '{"type":"ask","id":%s,"text":%s}',
        '{"type":"cancel","id":%s,"x":%s}',
        '{"type":%s,"seq":%s}',
        "%s%s",
    ]
    values = [
        '"a"',
        "5",
        "null",
        "[]",
        "{}",
        '"\\u0000"',
        '"\\ud83d"',
        "1e999",
        "-0",
        "true",
        '""',
        "NaN",
        '{"a":[{}]}',
        "\u202e",
    ]
    async with live(address) as client:
        for _ in range(300):
            await client.socket.send(
                letters.choice(shapes) % (letters.choice(values), letters.choice(values))
            )
        await client.ask("last")
        await client.until("answer.done", id="last")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("garbage", "malformed_message"),
        ('{"type":"dance","id":"a"}', "unknown_message"),
        ('{"type":"ask","id":"a"}', "invalid_message"),
        ('{"type":"ask","id":"a","text":"what?","cameras":["none"]}', "unknown_camera"),
        ('{"type":"ask","id":"a","text":"what?","cameras":["NONE"]}', "invalid_camera_id"),
        ('{"type":"ask","id":"a","text":"what?","max_tokens":"9"}', "invalid_message"),
        ('{"type":"cancel","id":"a"}', "unknown_question"),
        (b"\x00\x01", "binary_message"),
        ("[" * 50_000, "malformed_message"),
    ],
)
async def test_a_wrong_message_is_refused_by_name_and_the_session_goes_on(
    address: str, message: str | bytes, code: str
) -> None:
    async with live(address) as client:
        await client.socket.send(message)
        refused = await client.until("error")
        assert refused["code"] == code
        assert refused["id"] == (
            "a" if b'"id":"a"' in (message if isinstance(message, bytes) else message.encode()) else None
        )
        await client.ask("next")
        assert (await client.until("answer.done"))["id"] == "next"


async def test_an_asker_that_refuses_breaks_or_crashes_ends_only_its_question(
    address: str, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with live(address) as client:
        world.asker.refuse = WindowUnavailable(GATE)
        await client.ask("a")
        refused = await client.until("error")
        assert (refused["id"], refused["code"], refused["retryable"]) == ("a", "window_unavailable", True)
        world.asker.refuse, world.asker.break_after = None, 1
        with caplog.at_level(logging.CRITICAL, logger="web.session"):
            await client.ask("a")
            crashed = await client.until("error")
        assert (crashed["id"], crashed["code"]) == ("a", "internal_error")
        assert "script" not in crashed["message"]
        world.asker.break_after = None
        await client.ask("a")
        await client.until("answer.done", id="a")


async def test_questions_at_a_time_are_limited_and_ids_not_reused_meanwhile(
    address: str, world: World
) -> None:
    world.asker.gate.clear()
    async with live(address) as client:
        for number in range(world.settings.max_questions):
            await client.ask(f"q{number}")
        await client.ask("q0")
        assert await client.error() == "duplicate_question"
        await client.ask("more")
        assert await client.error() == "too_many_questions"
        world.asker.gate.set()
        for _ in range(world.settings.max_questions):
            await client.until("answer.done")


async def test_a_cancelled_question_ends_as_cancelled(address: str, world: World) -> None:
    world.asker.gate.clear()
    async with live(address) as client:
        await client.ask("q1")
        await client.until("answer.started")
        await client.say(type="cancel", id="q1")
        done = await client.until("answer.done")
        assert (done["id"], done["outcome"], done["citations"]) == ("q1", "cancelled", [])
        assert (world.asker.running, world.asker.aborted) == (0, 1)


async def test_a_thousand_cancelled_questions_leave_nothing_behind(address: str, world: World) -> None:
    world.asker.gate.clear()
    async with live(address) as client:
        before = tasks()
        for number in range(1000):
            await client.ask(f"q{number}")
            await client.say(type="cancel", id=f"q{number}")
            await client.until("answer.done", outcome="cancelled", id=f"q{number}")
        assert tasks() == before or tasks() - before == {t for t in tasks() if t.startswith("web:states")}
        assert (world.asker.running, world.asker.aborted) == (0, len(world.asker.asked))
        world.asker.gate.set()
        await client.ask("last")
        await client.until("answer.done", outcome="ok")
    await until(lambda: not tasks())
    assert world.registry.listeners == 0


async def test_states_are_pushed_as_they_change(address: str, world: World) -> None:
    async with live(address) as client:
        await client.until("camera.state")
        world.registry.set_state(GATE, CameraState.ONLINE)
        assert (await client.until("camera.state"))["state"]["state"] == "online"
        await world.add_camera(CameraId("door"))
        assert (await client.until("camera.state"))["camera"] == "door"
        await world.registry.remove(CameraId("door"))
        gone = await client.until("camera.state", camera="door", removed=True)
        assert gone["state"] is None


async def test_a_large_message_within_the_limit_works(address: str) -> None:
    async with live(address) as client:
        message = json.dumps({"type": "ask", "id": "q1", "text": "what?"})
        await client.socket.send(message + " " * (1_200_000 - len(message)))
        await client.until("answer.done", id="q1")
        await client.socket.send(message + " " * ((2 << 20) - len(message)))
        await client.until("answer.done", id="q1")


@pytest.mark.parametrize("over", [1, 8_000_000])
async def test_a_message_over_the_limit_is_refused_by_name_and_closes_with_1009(
    address: str, world: World, over: int
) -> None:
    async with live(address) as bystander, live(address) as client:
        await client.socket.send(" " * ((2 << 20) + over))
        assert await client.error() == "message_too_large"
        assert await client.closing_code() == 1009
        await bystander.ask("q1")
        await bystander.until("answer.done")


async def test_even_a_message_that_is_never_read_closes_with_1009(address: str) -> None:
    async with live(address) as client:
        await client.next()
        with suppress(ConnectionClosed):
            await client.socket.send(" " * (17 << 20))
        assert await client.closing_code() == 1009


async def test_a_client_that_says_goodbye_aborts_its_answers_at_once(address: str, world: World) -> None:
    world.asker.gate.clear()
    async with live(address) as client:
        await client.ask("q1")
        await client.until("answer.started")
    await until(lambda: world.asker.running == 0, within_s=2.0)
    await until(lambda: not tasks(), within_s=2.0)


async def test_a_client_that_vanishes_aborts_its_answers_within_two_seconds(
    address: str, world: World
) -> None:
    world.asker.gate.clear()
    async with live(address) as client:
        await client.ask("q1")
        await client.until("answer.started")
        client.socket.transport.abort()
        await until(lambda: world.asker.running == 0, within_s=2.0)
    await until(lambda: not tasks())


async def ask_and_read_nothing(sock: socket.socket, address: str) -> None:
    """Open a session by hand, ask, and leave everything that comes in the socket."""
    loop = asyncio.get_running_loop()
    host, port = address.split(":")
    await loop.sock_connect(sock, (host, int(port)))
    handshake = (
        f"GET /api/v1/live HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: livelens.v1\r\n\r\n"
    )
    message = b'{"type":"ask","id":"slow","text":"what?"}'
    frame = bytes([0x81, 0x80 | len(message), 0, 0, 0, 0]) + message  # one text frame under a mask of zeros
    await loop.sock_sendall(sock, handshake.encode())
    assert (await loop.sock_recv(sock, 64)).startswith(b"HTTP/1.1 101")
    await loop.sock_sendall(sock, frame)


async def test_a_client_that_stops_reading_is_closed_and_nobody_else_waits(world: World) -> None:
    settings = WebSettings(stall_timeout_s=0.3)
    world.settings = settings
    world.asker.words = ["x" * 100_000] * 400
    async with serving(world.app(), settings) as address:
        with socket.socket() as small:
            small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            small.setblocking(False)
            await ask_and_read_nothing(small, address)
            await until(lambda: world.asker.running == 1)
            async with live(address) as quick:
                world.asker.words = ["quick"]
                await quick.ask("quick")
                await quick.until("answer.done")
            await until(lambda: world.asker.running == 0, within_s=2.3)
            assert world.asker.aborted == 1
            await until(lambda: not tasks(), within_s=3.0)


async def test_a_stopping_server_closes_sessions_with_1012(world: World) -> None:
    world.asker.gate.clear()
    async with asyncio.timeout(5):
        async with serving(world.app(), world.settings) as address:
            client = await (context := live(address)).__aenter__()
            await client.ask("q1")
            await client.until("answer.started")
        assert await client.closing_code() == 1012
        await context.__aexit__(None, None, None)
    assert world.asker.running == 0
    assert not tasks()


async def test_a_client_that_answers_no_ping_leaves_nothing_behind(world: World) -> None:
    settings = WebSettings(ping_interval_s=0.2, ping_timeout_s=0.2, answer_grace_s=0.1)
    world.settings = settings
    world.asker.gate.clear()
    async with serving(world.app(), settings) as address:
        with socket.socket() as silent:
            silent.setblocking(False)
            await ask_and_read_nothing(silent, address)
            await until(lambda: world.asker.running == 1)
            await until(lambda: not tasks(), within_s=3.0)
    assert world.asker.aborted == 1
    assert world.registry.listeners == 0


async def test_pongs_come_within_a_second_while_threads_work(address: str) -> None:
    def decode() -> int:
        return sum(len(bytes(20_000_000)) for _ in range(20))

    async with live(address) as client, asyncio.TaskGroup() as jobs:
        for _ in range(10):
            jobs.create_task(asyncio.to_thread(decode))
        for _ in range(10):
            pong = await client.socket.ping()
            async with asyncio.timeout(1.0):
                await pong


async def test_cameras_that_are_not_known_yet_are_told_of_as_soon_as_they_are(
    address: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise WindowUnavailable(CameraId(""))

    monkeypatch.setattr(world.registry, "list", away)
    async with live(address) as client:
        assert (await client.next())["type"] == "session.ready"
        await until(lambda: world.registry.listeners == 1)
        world.registry.set_state(GATE, CameraState.ONLINE)
        state = await client.until("camera.state", camera="gate")
        assert state["state"]["state"] == "online"
        assert len(client.seen) == 2
