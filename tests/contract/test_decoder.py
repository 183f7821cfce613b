"""What every decoder keeps to: the scripted one, the engine on a tiny checkpoint, clients of real HTTP servers that are
scripted, and the client of vLLM before vLLM itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from core.clock import ServiceClock
from core.ids import RequestId
from models.decoder import Decoder, Delta, Finish, Reads, SamplingParams
from models.errors import DecoderUnavailable, NoUsableFrames
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings, RemoteLimits
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart, Turn
from tests.support.decoder_bench import WORDS, Bench, label_of, ref_of, scripted_vllm, served_vllm
from tests.support.scripted_decoder import Asked, Script, ScriptedDecoder
from tests.support.scripted_openai import Reply, ScriptedOpenAI, SeenRequest
from tests.support.tiny_model import NoisePicture, eventually, tiny_engine, tiny_model_folder

__all__ = ["tiny_model_folder"]  # a fixture used here


@asynccontextmanager
async def scripted(folder: Path) -> AsyncIterator[Bench]:
    fail: list[bool] = []

    def script(asked: Asked) -> Script:
        return Script(error=DecoderUnavailable("scripted")) if fail and fail.pop() else Script.of(*WORDS)

    decoder = ScriptedDecoder(script)

    def seen() -> str:
        prompt = decoder.asked[-1].prompt
        if isinstance(prompt, Dialogue):
            pieces = [part for message in prompt.messages for part in message.parts]
            return "\n".join(
                part.text if isinstance(part, TextPart) else f"<{int(part.ref.split('/')[1]) // 1_000_000}>"
                for part in pieces
            )
        parts = [
            f"{p.label}<{int(p.label[-3:-1])}>" if isinstance(p, FramePart) else p.text for p in prompt.parts
        ]
        turns = [text for turn in prompt.history for text in (turn.question, turn.answer)]
        return "\n".join([prompt.system, *parts, *turns, prompt.question])

    def frame(n: int) -> FramePart:
        return FramePart(label_of(n), ref_of(n), jpeg=b"jpeg%d" % n)

    yield Bench(decoder, frame, seen, lambda: decoder.running, lambda: fail.append(True), len(WORDS))


@asynccontextmanager
async def openai(folder: Path) -> AsyncIterator[Bench]:
    fail: list[bool] = []

    def reply(request: SeenRequest) -> Reply:
        if fail and fail.pop():
            return Reply(status=503, error="scripted")
        return Reply(deltas=WORDS, byte_by_byte=True, delta_s=0.001)

    with ScriptedOpenAI(reply) as server:
        decoder = OpenAIDecoder(
            OpenAISettings(server.url, limits=RemoteLimits(attempts=1)), clock=ServiceClock()
        )
        await decoder.start()

        def seen() -> str:
            texts: list[str] = []
            for message in server.requests[-1].messages:
                content = message["content"]
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                texts += [p["text"] if p["type"] == "text" else "<picture>" for p in parts]
            flat = "\n".join(texts)
            for picture in server.requests[-1].frames:
                flat = flat.replace("<picture>", f"<{picture.jpeg.removeprefix(b'jpeg').decode()}>", 1)
            return flat

        def frame(n: int) -> FramePart:
            return FramePart(label_of(n), ref_of(n), jpeg=b"jpeg%d" % n)

        try:
            yield Bench(decoder, frame, seen, lambda: server.running, lambda: fail.append(True), len(WORDS))
        finally:
            await decoder.aclose()


@asynccontextmanager
async def engine(folder: Path) -> AsyncIterator[Bench]:
    from tokenizers import Tokenizer

    async with tiny_engine(folder) as (decoder, spy, _):
        features = [await decoder.encode(NoisePicture(n)) for n in range(6)]
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

        def seen() -> str:
            rendered = spy.intakes[-1].rendered
            ids, pieces, at = rendered.ids.tolist(), [], 0
            for placed in rendered.frames:
                pieces.append(tokenizer.decode(ids[at : placed.start], skip_special_tokens=True))
                pieces.append(f"<{int(placed.ref.split('/')[1]) // 1_000_000}>")
                at = placed.end
            return "".join([*pieces, tokenizer.decode(ids[at:], skip_special_tokens=True)])

        def frame(n: int) -> FramePart:
            return FramePart(label_of(n), ref_of(n), features=features[n])

        yield Bench(
            decoder,
            frame,
            seen,
            lambda: decoder.statistics().running + decoder.statistics().waiting,
            lambda: spy.fail.append("prefill"),
            0,
        )


@pytest.fixture(
    params=[
        scripted,
        openai,
        scripted_vllm,
        pytest.param(served_vllm, marks=[pytest.mark.slow, pytest.mark.timeout(400)]),
        pytest.param(engine, marks=pytest.mark.torch),
    ]
)
async def bench(request: pytest.FixtureRequest, tiny_model_folder: Path) -> AsyncIterator[Bench]:
    async with request.param(tiny_model_folder) as opened:
        yield opened


def prompt_of(
    bench: Bench, *numbers: int, question: str = "What happened?", history: tuple[Turn, ...] = ()
) -> Prompt:
    return Prompt("You watch a camera.", tuple(bench.frame(n) for n in numbers), question, history)


async def answer(
    decoder: Decoder,
    prompt: Prompt | Dialogue,
    *,
    max_tokens: int = 40,
    stop: tuple[str, ...] = (),
    request_id: str = "req_1",
    priority: int = 0,
) -> list[Delta]:
    sampling = SamplingParams(max_tokens, stop=stop)
    stream = decoder.generate(prompt, request_id=RequestId(request_id), sampling=sampling, priority=priority)
    async with aclosing(stream) as deltas:  # type: ignore[type-var]  # decoders are async generators
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_a_decoder_says_what_it_reads_and_how_much(bench: Bench) -> None:
    profile = bench.decoder.profile
    assert profile.name
    assert profile.window_tokens >= profile.frame_tokens >= 1
    assert (profile.encoder_version is not None) == (profile.reads is not Reads.JPEG)
    assert bench.decoder.healthy()


async def test_a_stream_ends_with_one_delta_that_says_why_and_what_it_took(bench: Bench) -> None:
    deltas = await answer(bench.decoder, prompt_of(bench, 1, 2))

    *words, last = deltas
    assert all(delta.finish is None for delta in words)
    assert last.finish is not None
    assert last.usage is not None
    assert last.usage.prompt_tokens > 0
    assert text_of(deltas)


async def test_an_answer_longer_than_max_tokens_stops_there_and_says_so(bench: Bench) -> None:
    last = (await answer(bench.decoder, prompt_of(bench, 1), max_tokens=3))[-1]

    assert last.finish is Finish.LENGTH
    assert last.usage is not None
    assert last.usage.completion_tokens == 3


async def test_a_stop_text_ends_the_answer_and_is_not_part_of_it(bench: Bench) -> None:
    whole = text_of(await answer(bench.decoder, prompt_of(bench, 1), max_tokens=9))
    stop = whole[len(whole) // 2 :][:2]
    deltas = await answer(bench.decoder, prompt_of(bench, 1), max_tokens=9, stop=(stop, "never said"))

    assert text_of(deltas) == whole.partition(stop)[0]
    assert deltas[-1].finish is Finish.STOP
    assert deltas[-1].usage is not None


async def test_text_comes_in_whole_characters(bench: Bench) -> None:
    deltas = await answer(bench.decoder, prompt_of(bench, 1))

    assert "\ufffd" not in text_of(deltas)
    for delta in deltas:
        delta.text.encode()  # a half character could not be
    if bench.words:
        assert text_of(deltas) == "".join(WORDS)
        assert deltas[-1].finish is Finish.STOP


async def test_the_prompt_reads_system_frames_behind_labels_history_and_question_last(bench: Bench) -> None:
    history = (Turn("Who came?", "A cat came."), Turn("When?", "At noon."))
    parts = (bench.frame(1), TextPart("unchanged since 14:03:01"), bench.frame(2), bench.frame(3))
    await answer(bench.decoder, Prompt("You watch.", parts, "And then?", history), max_tokens=2)

    wanted = ["You watch.", "[14:03:01]", "<1>", "unchanged since 14:03:01", "[14:03:02]", "<2>"]
    wanted += ["[14:03:03]", "<3>", "Who came?", "A cat came.", "When?", "At noon.", "And then?"]
    seen, at = bench.seen(), 0
    for piece in wanted:
        found = seen.find(piece, at)
        assert found >= 0, f"{piece} is missing or out of order in {seen!r}"
        at = found + len(piece)


def picture_of(bench: Bench, n: int) -> PicturePart:
    frame = bench.frame(n)
    return PicturePart(frame.ref, features=frame.features, jpeg=frame.jpeg)


async def test_a_dialogue_is_read_as_it_was_written(bench: Bench) -> None:
    dialogue = Dialogue(
        (
            Message(Role.SYSTEM, (TextPart("Be brief."),)),
            Message(Role.USER, (TextPart("Look at"), picture_of(bench, 1), TextPart("and say."))),
            Message(Role.ASSISTANT, (TextPart("A cat."),)),
            Message(Role.USER, (picture_of(bench, 2), TextPart("And here?"))),
        )
    )
    last = (await answer(bench.decoder, dialogue, max_tokens=2))[-1]

    assert last.usage is not None
    wanted = ["Be brief.", "Look at", "<1>", "and say.", "A cat.", "<2>", "And here?"]
    seen, at = bench.seen(), 0
    for piece in wanted:
        found = seen.find(piece, at)
        assert found >= 0, f"{piece} is missing or out of order in {seen!r}"
        at = found + len(piece)


async def test_a_dialogue_whose_picture_cannot_be_read_is_not_answered_without_it(bench: Bench) -> None:
    if isinstance(bench.decoder, ScriptedDecoder):
        pytest.skip("the scripted decoder reads nothing")
    bare = PicturePart(ref_of(9))
    dialogue = Dialogue((Message(Role.USER, (picture_of(bench, 1), bare, TextPart("Say."))),))
    with pytest.raises(NoUsableFrames):
        await answer(bench.decoder, dialogue, max_tokens=2)


async def test_more_frames_take_more_prompt_tokens(bench: Bench) -> None:
    few = (await answer(bench.decoder, prompt_of(bench, 1), max_tokens=2))[-1].usage
    many = (await answer(bench.decoder, prompt_of(bench, 1, 2, 3), max_tokens=2))[-1].usage

    assert few is not None
    assert many is not None
    assert many.prompt_tokens > few.prompt_tokens


async def test_a_prompt_without_frames_is_answered(bench: Bench) -> None:
    assert (await answer(bench.decoder, prompt_of(bench), max_tokens=2))[-1].finish is not None


async def test_closing_early_aborts_the_request_on_the_other_side(bench: Bench) -> None:
    sampling = SamplingParams(max_tokens=500)
    stream = bench.decoder.generate(prompt_of(bench, 1), request_id=RequestId("req_1"), sampling=sampling)
    async with aclosing(stream) as deltas:  # type: ignore[type-var]
        async for _ in deltas:
            break

    await eventually(lambda: bench.running() == 0, within_s=2)
    assert (await answer(bench.decoder, prompt_of(bench, 1), max_tokens=2))[-1].finish is not None


async def test_cancelling_the_reader_before_the_first_word_leaves_nothing_running(bench: Bench) -> None:
    task = asyncio.create_task(answer(bench.decoder, prompt_of(bench, 1, 2, 3), max_tokens=500))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await eventually(lambda: bench.running() == 0, within_s=2)


async def test_several_questions_at_once_get_the_answers_they_get_alone(bench: Bench) -> None:
    prompts = [prompt_of(bench, *range(1, 2 + n), question=f"Question {n}?") for n in range(4)]
    together = await asyncio.gather(*(answer(bench.decoder, prompt, max_tokens=12) for prompt in prompts))
    alone = [await answer(bench.decoder, prompt, max_tokens=12) for prompt in prompts]

    assert [text_of(deltas) for deltas in together] == [text_of(deltas) for deltas in alone]


@pytest.mark.logs_errors
async def test_a_failure_on_the_other_side_is_named_and_the_next_question_works(bench: Bench) -> None:
    bench.fail_once()
    with pytest.raises(DecoderUnavailable):
        await answer(bench.decoder, prompt_of(bench, 1))

    assert (await answer(bench.decoder, prompt_of(bench, 1), max_tokens=2))[-1].finish is not None
    await eventually(lambda: bench.running() == 0, within_s=2)
