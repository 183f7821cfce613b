"""The decoder's part of an answer."""

from contextlib import aclosing

import pytest

from core.clock import ManualClock
from core.ids import CameraId, RequestId, make_frame_ref
from core.meter import Metric, TallyMeter
from models.decoder import Finish, Usage
from models.errors import DecoderUnavailable, PromptTooLarge
from models.prompt import Prompt
from qa.answers import Language, Outcome
from qa.settings import AskSettings
from qa.speak import NoRoom, NoWords, Speech, speak
from qa.telling import Stopwatch
from tests.support.scripted_decoder import Script, ScriptedDecoder

PROMPT = Prompt("system", (), "what?")


def speech(max_tokens: int = 256, limit_s: float = 20.0) -> Speech:
    settings = AskSettings(first_word_limit_s=limit_s, stall_limit_s=limit_s)
    return Speech(RequestId("req_1"), max_tokens, Language.EN, settings)


async def spoken(decoder: ScriptedDecoder, asked: Speech, meter: TallyMeter | None = None) -> list[str]:
    watch = Stopwatch(ManualClock(), ManualClock().now_us())
    stream = speak(decoder, PROMPT, speech=asked, watch=watch, meter=meter or TallyMeter())
    async with aclosing(stream) as pieces:
        return [piece async for piece in pieces]


async def test_words_come_as_they_are_said_and_empty_pieces_do_not() -> None:
    asked, meter = speech(), TallyMeter()
    assert await spoken(ScriptedDecoder(Script.of("a", "", "b")), asked, meter) == ["a", "b"]
    assert (asked.outcome, asked.finish, asked.notices("m")) == (Outcome.OK, Finish.STOP, ())
    assert (asked.usage.completion_tokens, len(meter.observed[Metric.INTER_TOKEN_SECONDS, ()])) == (3, 1)


async def test_a_stream_without_usage_reports_none() -> None:
    asked = speech()
    await spoken(ScriptedDecoder(Script(("a",), without_usage=True)), asked)
    assert asked.usage.prompt_tokens == 0


async def test_reaching_the_limit_shortens() -> None:
    asked = speech(max_tokens=1)
    assert await spoken(ScriptedDecoder(Script.of("a", "b")), asked) == ["a"]
    assert (asked.outcome, asked.notices("m")) == (Outcome.SHORTENED, ("Cut at the limit of 1 tokens.",))


async def test_failing_in_the_middle_shortens_and_keeps_the_words() -> None:
    asked = speech()
    assert await spoken(ScriptedDecoder(Script(("a", "b"), DecoderUnavailable("x"), 1)), asked) == ["a"]
    assert (asked.outcome, asked.notices("m")) == (
        Outcome.SHORTENED,
        ("m stopped before the end of its answer.",),
    )


@pytest.mark.parametrize("script", [Script(error=DecoderUnavailable("x")), Script.of(), Script.of("", "")])
async def test_no_word_at_all_is_told_apart(script: Script) -> None:
    with pytest.raises(NoWords):
        await spoken(ScriptedDecoder(script), speech())


async def test_a_prompt_too_large_is_told_apart_only_before_the_first_word() -> None:
    with pytest.raises(NoRoom):
        await spoken(ScriptedDecoder(Script(error=PromptTooLarge(9, 8))), speech())
    asked = speech()
    assert await spoken(ScriptedDecoder(Script(("a", "b"), PromptTooLarge(9, 8), 1)), asked) == ["a"]
    assert asked.failed


async def test_frames_that_were_left_out_are_known_at_the_end() -> None:
    refused = (make_frame_ref(CameraId("gate"), 1),)
    asked = speech()
    await spoken(ScriptedDecoder(Script(("a",), usage=Usage(1, 1, refused=refused))), asked)
    assert asked.refused == refused


async def test_silence_before_the_first_word_and_in_the_middle_ends_the_stream() -> None:
    decoder = ScriptedDecoder(Script(("a",), stall_at=0), Script(("a", "b"), stall_at=1))
    with pytest.raises(NoWords):
        await spoken(decoder, speech(limit_s=0.01))
    asked = speech(limit_s=0.01)
    assert await spoken(decoder, asked) == ["a"]
    assert asked.failed
    assert decoder.running == 0


async def test_leaving_early_aborts_the_request() -> None:
    decoder = ScriptedDecoder(Script.of("a", "b"))
    watch = Stopwatch(ManualClock(), ManualClock().now_us())
    async with aclosing(speak(decoder, PROMPT, speech=speech(), watch=watch, meter=TallyMeter())) as pieces:
        await anext(pieces)
    assert decoder.closed_early == [RequestId("req_1")]


async def test_a_fault_in_the_decoder_itself_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await spoken(ScriptedDecoder(Script(("a",), ZeroDivisionError())), speech())
