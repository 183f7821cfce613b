import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import ServiceClock
from core.ids import RequestId
from core.meter import Metric, TallyMeter
from models.checkpoint import Checkpoint, read_checkpoint
from models.decoder import Delta, Finish, Reads, SamplingParams
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, NoUsableFrames, PromptTooLarge
from models.openai_settings import OpenAISettings, RemoteLimits
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart
from models.vllm import VllmDecoder
from models.vllm_settings import VllmLimits, VllmSettings
from tests.support.frame_source import ScriptedFrames
from tests.support.scripted_openai import Reply
from tests.support.scripted_vllm import ScriptedVllm
from tests.support.tiny_model import eventually, tiny_model_folder
from tests.support.vllm_stage import features_of, frame_of, ref_of

__all__ = ["tiny_model_folder"]

pytestmark = pytest.mark.torch


@pytest.fixture
def checkpoint(tiny_model_folder: Path) -> Checkpoint:
    return read_checkpoint(str(tiny_model_folder), frame_tokens=24)


@asynccontextmanager
async def client(
    server: ScriptedVllm,
    checkpoint: Checkpoint | None,
    frames: Any = None,
    meter: TallyMeter | None = None,
    **limits: Any,
) -> AsyncIterator[VllmDecoder]:
    """Yield a started client; ``limits`` are those of questions, ``probe_...`` those of looking after the engine."""
    own = {name: limits.pop(name) for name in tuple(limits) if name.startswith("probe_")}
    remote = RemoteLimits(**{"retry_pause_us": 1_000} | limits)
    settings = VllmSettings(
        OpenAISettings(server.url, limits=remote),
        VllmLimits(**{"probe_every_us": 10_000, "probe_timeout_us": 300_000} | own),
    )
    decoder = VllmDecoder(
        settings,
        clock=ServiceClock(),
        meter=meter or TallyMeter(),
        checkpoint=checkpoint,
        frames=frames,
        jitter=random.Random(1),
    )
    await decoder.start()
    try:
        yield decoder
    finally:
        await decoder.aclose()


@asynccontextmanager
async def watched(decoder: VllmDecoder) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(decoder.watch())
        yield
        task.cancel()


def prompt_of(checkpoint: Checkpoint, *numbers: int) -> Prompt:
    return Prompt("You watch.", tuple(frame_of(n, checkpoint) for n in numbers), "What happened?")


def published(checkpoint: Checkpoint, *numbers: int) -> ScriptedFrames:
    return ScriptedFrames({ref_of(n, checkpoint): features_of(n, checkpoint) for n in numbers})


async def ask(
    decoder: VllmDecoder, prompt: Prompt | Dialogue, sampling: SamplingParams | None = None, priority: int = 0
) -> list[Delta]:
    stream = decoder.generate(
        prompt, request_id=RequestId("req_1"), sampling=sampling or SamplingParams(50), priority=priority
    )
    async with aclosing(stream) as deltas:  # type: ignore[type-var]
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_it_takes_refs_of_the_checkpoint_s_own_encoder(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder, max_model_len=4_000) as server:
        async with client(server, checkpoint) as decoder:
            profile = decoder.profile
    assert profile.reads is Reads.REFS
    assert profile.encoder_version == checkpoint.encoder_version
    assert profile.name == checkpoint.profile.name
    assert profile.window_tokens == 3_000, "no more than three quarters of the context that vLLM runs with"


async def test_frames_go_by_ref_alone_and_the_usage_says_what_was_found_computed(
    checkpoint: Checkpoint,
) -> None:
    meter = TallyMeter()
    with ScriptedVllm(checkpoint.folder, Reply.of("A ", "car.")) as server:
        async with client(server, checkpoint, published(checkpoint, 1, 2), meter) as decoder:
            first = await ask(decoder, prompt_of(checkpoint, 1, 2), priority=7)
            second = await ask(decoder, prompt_of(checkpoint, 1, 2))

    assert text_of(first) == "A car."
    assert first[-1].finish is Finish.STOP
    assert [frame.ref for frame in server.requests[0].frames] == [ref_of(n, checkpoint) for n in (1, 2)]
    assert all(frame.embeds is None and not frame.jpeg for frame in server.requests[0].frames)
    assert first[-1].usage is not None
    assert second[-1].usage is not None
    assert first[-1].usage.prompt_tokens == len(server.prompts[0].ids)
    assert (first[-1].usage.cached_tokens, second[-1].usage.cached_tokens > 40) == (0, True)
    assert meter.counts[Metric.PREFIX_TOKENS, (("hit", "yes"),)] == second[-1].usage.cached_tokens
    assert server.requests[0].body["priority"] == 7
    assert "priority" not in server.requests[1].body


async def test_a_checkpoint_s_own_sampling_defaults_are_overruled(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder) as server:
        async with client(server, checkpoint) as decoder:
            await ask(
                decoder, prompt_of(checkpoint, 1), SamplingParams(9, temperature=0.5, seed=3, stop=("x",))
            )
    body = server.requests[0].body
    assert (body["top_p"], body["top_k"], body["repetition_penalty"]) == (1.0, 0, 1.0)
    assert (body["temperature"], body["seed"], body["stop"], body["max_tokens"]) == (0.5, 3, ["x"], 9)


async def test_a_frame_that_vLLM_does_not_find_is_left_out_and_the_question_asked_again(  # noqa: N802
    checkpoint: Checkpoint,
) -> None:
    frames = published(checkpoint, *range(16))
    frames.forged = {ref_of(3, checkpoint)}
    with ScriptedVllm(checkpoint.folder, Reply.of("yes")) as server:
        server.forget(ref_of(3, checkpoint))
        async with client(server, checkpoint, frames) as decoder:
            last = (await ask(decoder, prompt_of(checkpoint, *range(16))))[-1]
            asked_once = len(server.requests)
            await ask(decoder, prompt_of(checkpoint, *range(16)))
            assert decoder.healthy()

    assert last.usage is not None
    assert last.usage.refused == (ref_of(3, checkpoint),)
    assert [len(prompt.refs) for prompt in server.prompts] == [16, 15, 15]
    assert asked_once == 2, "and the next question knows"
    assert server.requests[0].body["request_id"] != server.requests[1].body["request_id"]


async def test_without_redis_the_frames_of_this_process_go_inline(checkpoint: Checkpoint) -> None:
    frames = published(checkpoint, *range(20))
    frames.away = True
    frames.mine = frames.redis
    with ScriptedVllm(checkpoint.folder, Reply.of("yes")) as server:
        async with client(server, checkpoint, frames) as decoder:
            last = (await ask(decoder, prompt_of(checkpoint, *range(20))))[-1]

    assert last.usage is not None
    assert len(last.usage.refused) == 12
    assert len(server.requests[0].frames) == 8
    assert all(frame.embeds for frame in server.requests[0].frames)


async def test_without_redis_and_frames_of_its_own_nothing_is_sent_and_vllm_is_not_to_blame(
    checkpoint: Checkpoint,
) -> None:
    frames = ScriptedFrames()
    frames.away = True
    with ScriptedVllm(checkpoint.folder) as server:
        async with client(server, checkpoint, frames) as decoder:
            with pytest.raises(DecoderUnavailable, match="Redis"):
                await ask(decoder, prompt_of(checkpoint, 1))
            assert decoder.healthy()
    assert server.requests == []


async def test_pictures_of_a_dialogue_go_as_they_are_and_one_without_bytes_is_refused(
    checkpoint: Checkpoint,
) -> None:
    picture = PicturePart(ref_of(1, checkpoint), jpeg=b"jpeg")
    bare = PicturePart(ref_of(2, checkpoint))
    with ScriptedVllm(checkpoint.folder) as server:
        async with client(server, checkpoint) as decoder:
            await ask(decoder, Dialogue((Message(Role.USER, (picture, TextPart("<|im_end|>?"))),)))
            with pytest.raises(NoUsableFrames):
                await ask(decoder, Dialogue((Message(Role.USER, (picture, bare)),)))
    assert server.requests[0].frames[0].jpeg == b"jpeg"
    assert server.prompts[0].text.count("<|im_end|>") == 1
    assert len(server.requests) == 1


async def test_without_a_checkpoint_frames_go_as_pictures(checkpoint: Checkpoint) -> None:
    seen = FramePart("[14:03:01]", ref_of(1, checkpoint), jpeg=b"jpeg")
    bare = FramePart("[14:03:02]", ref_of(2, checkpoint))
    with ScriptedVllm(checkpoint.folder) as server:
        async with client(server, None) as decoder:
            assert decoder.profile.reads is Reads.JPEG
            assert decoder.profile.name == checkpoint.folder.name
            last = (await ask(decoder, Prompt("S.", (seen, bare), "Q?")))[-1]
    assert [(frame.label, frame.jpeg) for frame in server.requests[0].frames] == [("[14:03:01]", b"jpeg")]
    assert "[14:03:02]" not in server.prompts[0].text
    assert last.usage is not None
    assert last.usage.refused == (bare.ref,)


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (Reply(status=429, error="queue full"), DecoderBusy),
        (Reply(status=503, error="no worker"), DecoderUnavailable),
        (Reply(status=400, error="no such thing", error_code=400), DecoderRefused),
        (Reply(error_at=0, error="no such thing", error_code=400), DecoderRefused),
        (Reply(error_at=0, error="Internal server error", error_code=500), DecoderUnavailable),
        (Reply(cut_at=0), DecoderUnavailable),
        (Reply(drop_connection=True), DecoderUnavailable),
        (Reply(raw_deltas=("{oops",)), DecoderUnavailable),
    ],
    ids=[
        "overload",
        "away",
        "refused",
        "refused in the stream",
        "failed in the stream",
        "cut",
        "dropped",
        "garbage",
    ],
)
async def test_what_vllm_says_becomes_an_error_of_ours_after_few_attempts(
    checkpoint: Checkpoint, reply: Reply, wanted: type[Exception]
) -> None:
    with ScriptedVllm(checkpoint.folder, reply) as server:
        async with client(server, checkpoint, published(checkpoint, 1)) as decoder:
            with pytest.raises(wanted):
                await ask(decoder, prompt_of(checkpoint, 1))
            assert 1 <= len(server.requests) <= 3
            server.set_replies(Reply.of("yes"))
            assert text_of(await ask(decoder, prompt_of(checkpoint, 1))) == "yes"
            await eventually(lambda: server.running == 0)


async def test_a_prompt_longer_than_the_context_is_told_with_figures(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder, max_model_len=60) as server:
        async with client(server, checkpoint) as decoder:
            with pytest.raises(PromptTooLarge) as told:
                await ask(decoder, prompt_of(checkpoint, 1, 2, 3))
            assert told.value.limit == 60
            assert told.value.tokens > 72
            assert decoder.healthy()


async def test_an_answer_that_breaks_off_after_its_first_word_is_not_begun_anew(
    checkpoint: Checkpoint,
) -> None:
    with ScriptedVllm(checkpoint.folder, Reply(deltas=("A ", "car."), cut_at=1)) as server:
        async with client(server, checkpoint) as decoder:
            with pytest.raises(DecoderUnavailable):
                await ask(decoder, prompt_of(checkpoint, 1))
        assert len(server.requests) == 1


async def test_leaving_in_mid_stream_aborts_the_request_at_once(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder, Reply(deltas=("A ", "car."), stall_at=1)) as server:
        async with client(server, checkpoint) as decoder:
            stream = decoder.generate(
                prompt_of(checkpoint, 1), request_id=RequestId("r"), sampling=SamplingParams()
            )
            async with aclosing(stream) as deltas:  # type: ignore[type-var]
                assert (await anext(deltas)).text == "A "
            await eventually(lambda: server.running == 0, within_s=2)
        assert server.aborted == 1


async def test_a_question_about_a_killed_engine_fails_soon_and_the_engine_is_found_again(
    checkpoint: Checkpoint,
) -> None:
    with ScriptedVllm(checkpoint.folder, Reply.of("yes")) as server:
        async with client(server, checkpoint) as decoder, watched(decoder):
            server.stop()
            begun = time.monotonic()
            with pytest.raises(DecoderUnavailable):
                await ask(decoder, prompt_of(checkpoint, 1))
            assert time.monotonic() - begun < 5
            await eventually(lambda: not decoder.healthy())
            server.start()
            await eventually(decoder.healthy)
            assert text_of(await ask(decoder, prompt_of(checkpoint, 1))) == "yes"


async def test_questions_that_wait_for_an_engine_that_went_silent_are_given_up(
    checkpoint: Checkpoint,
) -> None:
    with ScriptedVllm(checkpoint.folder, Reply(stall_at=0)) as server:
        async with client(server, checkpoint) as decoder, watched(decoder):
            waiting = asyncio.create_task(ask(decoder, prompt_of(checkpoint, 1)))
            await eventually(lambda: server.running == 1)
            server.frozen = True
            async with asyncio.timeout(5):
                with pytest.raises(DecoderUnavailable, match="stopped answering"):
                    await waiting
            assert not decoder.healthy()
            server.frozen = False
            await eventually(decoder.healthy)


async def test_an_engine_that_says_it_is_dead_is_not_asked(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder) as server:
        async with client(server, checkpoint) as decoder, watched(decoder):
            await eventually(decoder.healthy)
            server.dead = True
            await eventually(lambda: not decoder.healthy())


async def test_starting_without_vllm_is_no_failure_and_its_context_is_learnt_later(
    checkpoint: Checkpoint,
) -> None:
    server = ScriptedVllm(checkpoint.folder, Reply.of("yes"), max_model_len=4_000)
    server.start()
    server.stop()
    async with client(server, checkpoint) as decoder:
        assert decoder.profile.window_tokens == checkpoint.profile.window_tokens
        server.start()
        try:
            assert text_of(await ask(decoder, prompt_of(checkpoint, 1))) == "yes"
            assert decoder.profile.window_tokens == 3_000
        finally:
            server.stop()


async def test_fifty_questions_at_once_are_all_answered_and_half_may_leave(checkpoint: Checkpoint) -> None:
    with ScriptedVllm(checkpoint.folder, Reply(deltas=("a", "b", "c"), delta_s=0.01)) as server:
        async with client(server, checkpoint, published(checkpoint, *range(8))) as decoder:
            tasks = [asyncio.create_task(ask(decoder, prompt_of(checkpoint, *range(8)))) for _ in range(50)]
            await eventually(lambda: server.running >= 10, within_s=10)
            for task in tasks[::2]:
                task.cancel()
            told = await asyncio.gather(*tasks, return_exceptions=True)
            assert [text_of(deltas) for deltas in told[1::2] if isinstance(deltas, list)] == ["abc"] * 25
            await eventually(lambda: server.running == 0)
