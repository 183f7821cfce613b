import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from core.clock import ManualClock, ServiceClock
from core.ids import CameraId, RequestId, make_frame_ref
from models.decoder import Delta, Finish, Reads, SamplingParams
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, NoUsableFrames, PromptTooLarge
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings, RemoteLimits
from models.prompt import FramePart, Prompt
from tests.support.scripted_openai import MODEL, Reply, ScriptedOpenAI
from tests.support.tiny_model import eventually

HI = Prompt("Watch.", (), "Hello?")


@asynccontextmanager
async def client(server: ScriptedOpenAI, clock: Any = None, **settings: Any) -> AsyncIterator[OpenAIDecoder]:
    """Yield a client of a server; ``settings`` are its limits, and ``model`` and ``api_key``."""
    address = {name: settings.pop(name) for name in ("model", "api_key") if name in settings}
    limits = RemoteLimits(**{"retry_pause_us": 1_000} | settings)
    chosen = OpenAISettings(server.url, limits=limits, **address)
    decoder = OpenAIDecoder(chosen, clock=clock or ServiceClock(), jitter=random.Random(1))
    try:
        yield decoder
    finally:
        await decoder.aclose()


async def ask(decoder: OpenAIDecoder, prompt: Prompt = HI, max_tokens: int = 50) -> list[Delta]:
    stream = decoder.generate(prompt, request_id=RequestId("r"), sampling=SamplingParams(max_tokens))
    async with aclosing(stream) as deltas:  # type: ignore[type-var]
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


@pytest.mark.parametrize(
    "reply",
    [
        Reply.of("Ein ", "ď🔥"),
        Reply(deltas=("Ein ", "ď🔥"), byte_by_byte=True),
        Reply(deltas=("Ein ", "ď🔥"), comments=True, line_end="\r\n", space=False),
        Reply(deltas=("Ein ", "ď🔥"), done=False, usage=False),
        Reply(deltas=("Ein ", "ď🔥"), usage_always=True, usage=False),
        Reply(deltas=("Ein ", "ď🔥"), finish=None, usage=False),
        Reply(raw_deltas=('"Ein "', r'"\u010f\ud83d"', r'"\udd25"')),
    ],
    ids=["plain", "byte by byte", "comments, CRLF", "no DONE", "usage beside", "no finish", "split escapes"],
)
async def test_every_servers_way_of_streaming_gives_the_same_words(reply: Reply) -> None:
    with ScriptedOpenAI(reply) as server:
        async with client(server) as decoder:
            deltas = await ask(decoder)
            assert text_of(deltas) == "Ein ď🔥"
            assert deltas[-1].finish is Finish.STOP
            assert (deltas[-1].usage is not None) == (reply.usage or reply.usage_always)


async def test_words_come_as_they_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedOpenAI(Reply(deltas=("one ", "two"), stall_at=1)) as server:
        async with client(server) as decoder:
            stream = decoder.generate(HI, request_id=RequestId("r"), sampling=SamplingParams())
            async with aclosing(stream) as deltas:  # type: ignore[type-var]
                assert (await anext(deltas)).text == "one "
                server.release()
                assert (await anext(deltas)).text == "two"


async def test_the_first_listed_model_is_asked_where_none_was_named() -> None:
    with ScriptedOpenAI() as server:
        async with client(server) as decoder:
            assert decoder.profile.name == "127.0.0.1"
            await decoder.start()
            assert decoder.profile.name == MODEL
            assert decoder.profile.reads is Reads.JPEG
            await ask(decoder)
            assert server.requests[0].body["model"] == MODEL
        async with client(server, model="other") as decoder:
            await ask(decoder)
            assert server.requests[1].body["model"] == "other"


async def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedOpenAI(Reply(status=400, error="you sent sk-secret-7"), api_key="sk-secret-7") as server:
        async with client(server, api_key="sk-secret-7") as decoder:
            with pytest.raises(DecoderRefused) as error:
                await ask(decoder)
            assert server.requests[0].headers["authorization"] == "Bearer sk-secret-7"
            assert "sk-secret-7" not in str(error.value) + repr(decoder._settings) + caplog.text
        async with client(server, api_key="sk-wrong") as decoder:
            with pytest.raises(DecoderRefused) as error:
                await ask(decoder)
            assert error.value.status == 401
            assert not decoder.healthy()


async def test_overload_is_tried_again_before_the_first_word() -> None:
    busy = Reply(status=503, error="loading")
    with ScriptedOpenAI(busy, Reply(status=429, retry_after_s=0), Reply.of("now")) as server:
        async with client(server) as decoder:
            assert text_of(await ask(decoder)) == "now"
            assert len(server.requests) == 3


async def test_it_gives_up_after_so_many_attempts() -> None:
    with ScriptedOpenAI(Reply(status=503, error="loading")) as server:
        async with client(server, attempts=2) as decoder:
            with pytest.raises(DecoderUnavailable, match="503, loading"):
                await ask(decoder)
            assert len(server.requests) == 2


async def test_a_server_that_asks_for_a_long_wait_is_not_waited_for() -> None:
    with ScriptedOpenAI(Reply(status=429, retry_after_s=600)) as server:
        async with client(server) as decoder:
            begun = time.monotonic()
            with pytest.raises(DecoderBusy):
                await ask(decoder)
            assert time.monotonic() - begun < 10
            assert len(server.requests) == 1


async def test_a_refusal_is_not_tried_again() -> None:
    with ScriptedOpenAI(Reply(status=400, error="no pictures here"), Reply.of("x")) as server:
        async with client(server) as decoder:
            with pytest.raises(DecoderRefused, match="no pictures here"):
                await ask(decoder)
            assert len(server.requests) == 1
            assert decoder.healthy()


async def test_a_server_that_does_not_know_stream_options_is_asked_without_from_then_on() -> None:
    with ScriptedOpenAI(Reply(status=400, error="unknown field stream_options"), Reply.of("a")) as server:
        async with client(server, attempts=1) as decoder:
            assert text_of(await ask(decoder)) == text_of(await ask(decoder)) == "a"
            assert ["stream_options" in r.body for r in server.requests] == [True, False, False]


async def test_nothing_is_tried_again_after_the_first_word() -> None:
    with ScriptedOpenAI(Reply(deltas=("one ", "two"), cut_at=1), Reply.of("again")) as server:
        async with client(server) as decoder:
            stream = decoder.generate(HI, request_id=RequestId("r"), sampling=SamplingParams())
            async with aclosing(stream) as deltas:  # type: ignore[type-var]
                said = [(await anext(deltas)).text]
                with pytest.raises(DecoderUnavailable, match="broke off"):
                    await anext(deltas)
            assert said == ["one "]
            assert len(server.requests) == 1


@pytest.mark.parametrize(
    "broken",
    [
        Reply(cut_at=0),
        Reply(cut_at=0, comments=True),
        Reply(error_at=0, error="out of memory"),
        Reply(deltas=(), finish=None, usage=False, done=False),
    ],
    ids=["cut", "cut after a comment", "error", "end without a word"],
)
async def test_a_stream_that_breaks_before_its_first_word_is_tried_again(broken: Reply) -> None:
    with ScriptedOpenAI(broken, Reply.of("now")) as server:
        async with client(server) as decoder:
            assert text_of(await ask(decoder)) == "now"
            assert len(server.requests) == 2
            assert decoder.healthy()
        await eventually(lambda: server.running == 0, within_s=2)


async def test_a_stream_that_always_breaks_before_its_first_word_ends_after_so_many_attempts() -> None:
    with ScriptedOpenAI(Reply(cut_at=0)) as server:
        async with client(server, attempts=3) as decoder:
            with pytest.raises(DecoderUnavailable, match="broke off"):
                await ask(decoder)
            assert len(server.requests) == 3
            assert not decoder.healthy()


async def test_an_answer_without_a_word_that_says_it_ended_is_an_answer() -> None:
    with ScriptedOpenAI(Reply(deltas=())) as server:
        async with client(server) as decoder:
            assert text_of(await ask(decoder)) == ""
            assert len(server.requests) == 1


async def test_an_error_in_mid_stream_is_told() -> None:
    with ScriptedOpenAI(Reply(error_at=1, error="out of memory")) as server:
        async with client(server) as decoder:
            with pytest.raises(DecoderUnavailable, match="out of memory"):
                await ask(decoder)
            assert not decoder.healthy()


async def test_an_answer_that_is_nonsense_is_told_and_remembered() -> None:
    with ScriptedOpenAI(Reply(raw_deltas=("{not json",))) as server:
        async with client(server) as decoder:
            with pytest.raises(DecoderUnavailable, match="no JSON"):
                await ask(decoder)
            assert not decoder.healthy()


async def test_a_connection_is_used_again_after_a_whole_answer() -> None:
    with ScriptedOpenAI(Reply.of("a", "b")) as server:
        async with client(server) as decoder:
            for _ in range(5):
                await ask(decoder)
            assert server.connections == 1


async def test_a_too_large_prompt_is_told_with_figures() -> None:
    error = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
    with ScriptedOpenAI(Reply(status=400, error=error)) as server:
        async with client(server) as decoder:
            with pytest.raises(PromptTooLarge) as told:
                await ask(decoder)
            assert (told.value.tokens, told.value.limit) == (5000, 4096)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(first_byte_s=30), "no answer within"),
        (Reply(stall_at=1), "nothing came"),
        (Reply(drop_connection=True), "failed"),
    ],
)
async def test_silence_has_an_end(reply: Reply, why: str) -> None:
    with ScriptedOpenAI(reply) as server:
        limits = {"first_byte_timeout_us": 300_000, "idle_timeout_us": 300_000, "attempts": 1}
        async with client(server, **limits) as decoder:
            with pytest.raises(DecoderUnavailable, match=why):
                await ask(decoder)
            await eventually(lambda: server.running == 0, within_s=2)


async def test_a_server_that_says_nothing_after_the_end_still_gave_an_answer() -> None:
    with ScriptedOpenAI(Reply(deltas=("a", "b"), usage=False, done=False, stall_after_end=True)) as server:
        async with client(server) as decoder:
            begun = time.monotonic()
            assert text_of(await ask(decoder)) == "ab"
            assert time.monotonic() - begun < 10


async def test_health_follows_the_last_exchange_and_gives_another_chance_later() -> None:
    clock = ManualClock()
    with ScriptedOpenAI(Reply.of("a")) as server:
        async with client(server, clock, attempts=1, retry_after_us=1_000_000) as decoder:
            await ask(decoder)
            server.stop()
            with pytest.raises(DecoderUnavailable, match="cannot connect to 127"):
                await ask(decoder)
            assert not decoder.healthy()
            clock.advance(1_000_000)
            assert decoder.healthy()
            server.start()
            await ask(decoder)
            assert decoder.healthy()


async def test_starting_without_a_server_is_no_failure() -> None:
    decoder = OpenAIDecoder(OpenAISettings("http://127.0.0.1:1"), clock=ServiceClock())
    await decoder.start()
    await decoder.aclose()
    with pytest.raises(DecoderUnavailable):
        await ask(decoder)
    await decoder.aclose()


async def test_a_prompt_whose_frames_have_no_pictures_is_not_sent() -> None:
    ref = make_frame_ref(CameraId("gate"), 1)
    with ScriptedOpenAI() as server:
        async with client(server) as decoder:
            with pytest.raises(NoUsableFrames):
                await ask(decoder, Prompt("s", (FramePart("[1]", ref),), "q"))
            some = (FramePart("[1]", ref), FramePart("[2]", ref, jpeg=b"jpeg"))
            usage = (await ask(decoder, Prompt("s", some, "q")))[-1].usage
            assert usage is not None
            assert usage.refused == (ref,)
            assert [f.label for f in server.requests[0].frames] == ["[2]"]


async def test_an_answer_in_one_piece_is_taken_too() -> None:
    with ScriptedOpenAI(Reply(deltas=("Hi ", "there"), never_streams=True)) as server:
        async with client(server) as decoder:
            deltas = await ask(decoder)
            assert text_of(deltas) == "Hi there"
            assert deltas[-1].usage is not None


async def test_a_hundred_cancelled_questions_leave_no_connection_in_use() -> None:
    with ScriptedOpenAI(Reply(deltas=("word ",) * 1_000, delta_s=0.002)) as server:
        async with client(server) as decoder:
            await decoder.start()
            for n in range(100):
                task = asyncio.create_task(ask(decoder, max_tokens=1_000))
                await asyncio.sleep(0.001 * (n % 6))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await eventually(lambda: server.running == 0, within_s=2)
            assert decoder.healthy()
