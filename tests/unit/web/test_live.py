import asyncio

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.web_client import LiveClient, live, until
from tests.support.web_fakes import World, serving
from web.access import Peer, Principal, Role
from web.app import create_app
from web.settings import WebSettings


async def refused(address: str, **options: object) -> tuple[int, bytes]:
    """Try a handshake that must fail; return status and body."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(f"ws://{address}/api/v1/live", **options):  # type: ignore[arg-type]
            pass
    return caught.value.response.status_code, bytes(caught.value.response.body or b"")


async def drop(client: LiveClient) -> None:
    """Lose the connection without a word."""
    client.socket.transport.abort()
    await client.socket.wait_closed()


async def test_a_handshake_without_our_subprotocol_is_refused(address: str) -> None:
    status, body = await refused(address)
    assert (status, b"subprotocol_required" in body) == (400, True)
    status, _ = await refused(address, subprotocols=["chat"])
    assert status == 400


async def test_a_foreign_page_cannot_open_a_session_but_ours_and_programs_can(address: str) -> None:
    status, body = await refused(address, subprotocols=["livelens.v1"], origin="https://other.example")
    assert (status, b"foreign_origin" in body) == (403, True)
    for origin in (f"http://{address}", None):
        async with live(address, origin=origin) as client:
            assert client.socket.subprotocol == "livelens.v1"
            await client.until("session.ready")


async def test_another_path_has_no_websocket(address: str) -> None:
    with pytest.raises(InvalidStatus) as caught:
        async with connect(f"ws://{address}/other", subprotocols=["livelens.v1"]):  # type: ignore[list-item]
            pass
    assert caught.value.response.status_code == 404


async def test_sessions_are_limited(world: World) -> None:
    settings = WebSettings(max_sessions=1)
    world.settings = settings
    async with serving(world.app(), settings) as address:
        async with live(address):
            status, body = await refused(address, subprotocols=["livelens.v1"])
            assert (status, b"too_many_sessions" in body) == (503, True)


async def test_open_sessions_are_measured(address: str, world: World) -> None:
    async with live(address) as client:
        await client.next()
        assert "livelens_websockets 1.0" in world.meter.render().decode()
    await until(lambda: "livelens_websockets 0.0" in world.meter.render().decode())


async def test_a_lost_connection_is_resumed_without_losing_a_word(address: str, world: World) -> None:
    world.asker.words = [f"{number} " for number in range(100)]
    world.asker.pause_s = 0.005
    async with live(address) as first:
        session = (await first.next())["session"]
        await first.ask("q1")
        for _ in range(10):
            await first.until("answer.delta")
        missed_from = first.seq
        await drop(first)
    await asyncio.sleep(0.1)
    async with live(address) as second:
        await second.until("session.ready", resumed=False)
        second.seen.clear()
        await second.say(type="resume", session=session, seq=missed_from)
        ready = await second.until("session.ready", resumed=True)
        assert (ready["session"], ready["seq"]) == (session, missed_from)
        second.seen = [ready]
        await second.until("answer.done")
        assert [message["seq"] for message in second.seen] == list(range(missed_from, second.seq + 1))
        assert first.text_of("q1") + second.text_of("q1") == "".join(world.asker.words)
        await second.ask("q2")
        await second.until("answer.done", id="q2")
    assert world.asker.aborted == 0


async def test_a_connection_that_only_seems_open_is_taken_over(address: str, world: World) -> None:
    world.asker.gate.clear()
    async with live(address) as first, live(address) as second:
        session = (await first.next())["session"]
        await first.ask("q1")
        await first.until("answer.started")
        await second.say(type="resume", session=session, seq=first.seq)
        await second.until("session.ready", resumed=True)
        assert await first.closing_code() == 4001
        world.asker.gate.set()
        await second.until("answer.done", id="q1")
    await until(lambda: world.asker.running == 0)


async def test_coming_back_late_tells_what_was_given_up(world: World) -> None:
    settings = WebSettings(answer_grace_s=0.1)
    world.settings = settings
    world.asker.gate.clear()
    async with serving(world.app(), settings) as address:
        async with live(address) as first:
            session = (await first.next())["session"]
            await first.ask("q1")
            await first.until("answer.started")
            await drop(first)
        await until(lambda: world.asker.running == 0)
        async with live(address) as second:
            await second.say(type="resume", session=session, seq=first.seq)
            ready = await second.until("session.ready", resumed=True)
            assert ready["session"] == session
            given_up = await second.until("error")
            assert (given_up["id"], given_up["code"], given_up["retryable"]) == (
                "q1",
                "connection_lost",
                True,
            )
            assert given_up["seq"] > first.seq
            world.asker.gate.set()
            await second.ask("q1")
            await second.until("answer.done")


@pytest.mark.parametrize("wrong", ["unknown", "future", "goodbye"])
async def test_what_cannot_be_resumed_is_said_and_the_new_session_goes_on(address: str, wrong: str) -> None:
    async with live(address) as first:
        session = (await first.next())["session"]
        if wrong != "goodbye":
            await drop(first)
    async with live(address) as second:
        named, seq = {"unknown": ("ses_x", 1), "future": (session, 999), "goodbye": (session, 1)}[wrong]
        await second.say(type="resume", session=named, seq=seq)
        assert await second.error() == "session_gone"
        await second.ask("q1")
        await second.until("answer.done")


async def test_resuming_comes_first_or_not_at_all(address: str) -> None:
    async with live(address) as first:
        session = (await first.next())["session"]
        await drop(first)
    async with live(address) as second:
        await second.ask("q1")
        await second.until("answer.done")
        await second.say(type="resume", session=session, seq=1)
        assert await second.error() == "invalid_message"


async def test_what_was_kept_is_forgotten_in_time(world: World) -> None:
    settings = WebSettings(answer_grace_s=0.01, session_keep_s=0.05)
    world.settings = settings
    async with serving(world.app(), settings) as address:
        async with live(address) as first:
            session = (await first.next())["session"]
            await drop(first)
        await asyncio.sleep(0.2)
        async with live(address) as second:
            await second.say(type="resume", session=session, seq=1)
            assert await second.error() == "session_gone"


@pytest.mark.logs_errors
async def test_a_session_that_fails_inside_closes_with_1011_and_the_server_goes_on(
    address: str, world: World
) -> None:
    world.registry.broken = RuntimeError("secret")
    async with live(address) as client:
        assert await client.closing_code() == 1011
    world.registry.broken = None
    async with live(address) as client:
        await client.ask("q1")
        await client.until("answer.done")


class ByName:
    """Takes everybody for the one they name, for want of keys."""

    def principal(self, peer: Peer) -> Principal:
        return Principal(peer.headers.get("x-name", "nobody"), Role.VIEWER)


@pytest.mark.parametrize("lost", [True, False])
async def test_a_session_is_not_resumed_by_somebody_else(world: World, lost: bool) -> None:
    settings = WebSettings(answer_grace_s=0.05)
    app = create_app(world.ports, settings, authenticator=ByName())
    async with serving(app, settings) as address:
        async with live(address, additional_headers={"x-name": "ada"}) as first:
            session = (await first.next())["session"]
            if lost:
                await drop(first)
                await asyncio.sleep(0.1)
            async with live(address, additional_headers={"x-name": "eve"}) as second:
                await second.say(type="resume", session=session, seq=1)
                assert await second.error() == "session_gone"
        if lost:
            async with live(address, additional_headers={"x-name": "ada"}) as third:
                await third.say(type="resume", session=session, seq=1)
                await third.until("session.ready", resumed=True)
