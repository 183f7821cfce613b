import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from core.clock import ServiceClock
from models.decoder import Delta, SamplingParams
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, NoUsableFrames
from models.health import Health
from models.openai_exchange import Ask, Exchange
from models.openai_settings import OpenAISettings, RemoteLimits
from models.openai_wire import Dialect, Json, request_body
from models.prompt import Prompt
from tests.support.scripted_openai import MODEL, Reply, ScriptedOpenAI
from tests.support.tiny_model import eventually

LIMITS = RemoteLimits(retry_pause_us=1_000)
asked: list[int] = []


async def say_hello(model: str, dialect: Dialect, attempt: int) -> Json:
    asked.append(attempt)
    return request_body(
        Prompt("Watch.", (), "Hello?"), model=model, sampling=SamplingParams(), dialect=dialect
    )


def exchange(server: ScriptedOpenAI, limits: RemoteLimits = LIMITS) -> Exchange:
    asked.clear()
    health = Health(failures=1, retry_after_us=limits.retry_after_us)
    return Exchange(OpenAISettings(server.url, limits=limits), clock=ServiceClock(), health=health)


async def hear(at: Exchange, ask: Ask = say_hello) -> list[Delta]:
    async with aclosing(at.deltas(ask, tuple)) as deltas:
        return [delta async for delta in deltas]


async def test_every_attempt_is_made_anew_and_told_its_number() -> None:
    with ScriptedOpenAI(Reply(error_at=0), Reply(status=503), Reply.of("yes")) as server:
        at = exchange(server)
        assert "".join(delta.text for delta in await hear(at)) == "yes"
        assert asked == [1, 2, 3]
        await at.aclose()


async def test_what_asking_itself_raises_is_passed_on_and_no_fault_of_the_server() -> None:
    async def nothing(model: str, dialect: Dialect, attempt: int) -> Json:
        raise NoUsableFrames(3, "gone")

    with ScriptedOpenAI() as server:
        at = exchange(server)
        with pytest.raises(NoUsableFrames):
            await hear(at, nothing)
        assert at.healthy()
        assert server.requests == []
        await at.aclose()


async def test_overload_that_lasts_is_told_as_such_and_does_not_make_the_server_unwell() -> None:
    with ScriptedOpenAI(Reply(status=429, error="queue full")) as server:
        at = exchange(server)
        with pytest.raises(DecoderBusy, match="queue full"):
            await hear(at)
        assert len(server.requests) == LIMITS.attempts
        assert at.healthy()
        await at.aclose()


@pytest.mark.parametrize("silent", [Reply(first_byte_s=30), Reply(stall_at=0)], ids=["no head", "no word"])
async def test_questions_that_wait_for_their_first_word_can_be_given_up(silent: Reply) -> None:
    with ScriptedOpenAI(silent) as server:
        at = exchange(server)
        waiting = asyncio.create_task(hear(at))
        await eventually(lambda: server.running == 1)
        await asyncio.sleep(0)
        at.give_up()
        async with asyncio.timeout(2):
            with pytest.raises(DecoderUnavailable):
                await waiting
        assert len(server.requests) == 1
        await at.aclose()


async def test_an_answer_under_way_is_not_given_up() -> None:
    with ScriptedOpenAI(Reply(deltas=("one ", "two"), stall_at=1)) as server:
        at = exchange(server)
        async with aclosing(at.deltas(say_hello, tuple)) as deltas:
            assert (await anext(deltas)).text == "one "
            at.give_up()
            server.release()
            assert (await anext(deltas)).text == "two"
        await at.aclose()


async def test_it_remembers_what_the_server_lists_of_its_model() -> None:
    with ScriptedOpenAI() as server:
        at = exchange(server)
        assert at.model == "127.0.0.1"
        assert at.card == {}
        await at.start()
        assert at.model == MODEL
        assert at.card["id"] == MODEL
        await at.aclose()


async def test_a_server_that_came_back_with_another_model_is_asked_for_that_one() -> None:
    with ScriptedOpenAI(Reply.of("a"), Reply(status=404, error="no such model"), Reply.of("b")) as server:
        at = exchange(server)
        await hear(at)
        server._models = ("another",)
        with pytest.raises(DecoderRefused):
            await hear(at)
        await hear(at)
        assert [request.body["model"] for request in server.requests] == [MODEL, MODEL, "another"]
        await at.aclose()


async def test_frames_left_out_are_named_in_the_usage() -> None:
    with ScriptedOpenAI() as server:
        at = exchange(server, replace(LIMITS, attempts=1))
        async with aclosing(at.deltas(say_hello, lambda: ("gate/1/e/4",))) as deltas:  # type: ignore[arg-type,return-value]
            last = [delta async for delta in deltas][-1]
        assert last.usage is not None
        assert last.usage.refused == ("gate/1/e/4",)
        await at.aclose()
