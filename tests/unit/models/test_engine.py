import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from core.clock import ServiceClock
from core.frames import BadFeatures, Features
from core.ids import CameraId, RequestId, make_frame_ref
from core.meter import Metric, NullMeter
from models.decoder import Delta, Finish, SamplingParams
from models.engine import Engine, EngineSettings
from models.errors import DecoderBusy, DecoderUnavailable, ModelNotLoadable, NoUsableFrames, PromptTooLarge
from models.prompt import FramePart, Prompt
from models.schedule import Limits
from tests.support.tiny_model import (
    NoisePicture,
    build_tiny_model,
    eventually,
    tiny_engine,
    tiny_model_folder,
)

__all__ = ["tiny_model_folder"]

pytestmark = pytest.mark.torch


def prompt_of(features: list[Features | None], question: str = "What?") -> Prompt:
    parts = tuple(
        FramePart(f"[14:03:{n:02d}]", make_frame_ref(CameraId("gate"), n, encoder="e"), features=held)
        for n, held in enumerate(features)
    )
    return Prompt("You watch.", parts, question)


async def ask(
    engine: Engine, prompt: Prompt, max_tokens: int = 12, priority: int = 0, **sampling: Any
) -> list[Delta]:
    stream = engine.generate(
        prompt,
        request_id=RequestId("req_1"),
        sampling=SamplingParams(max_tokens, **sampling),
        priority=priority,
    )
    async with aclosing(stream) as deltas:  # type: ignore[type-var]
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def encoded(engine: Engine, count: int) -> list[Features | None]:
    return list(await asyncio.gather(*(engine.encode(NoisePicture(n)) for n in range(count))))


async def test_pictures_of_several_cameras_are_encoded_together_and_counted(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, meter):
        features = await encoded(engine, 12)
        assert engine.frames_encoded == meter.total(Metric.ENCODED) == 12
        assert len(meter.observed[Metric.ENCODE_SECONDS, ()]) < 12
        assert len({f.data for f in features if f}) == 12
        assert (await engine.encode(NoisePicture(3))).encoder_version == engine.profile.encoder_version


async def test_answering_encodes_nothing(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        features = await encoded(engine, 3)
        await ask(engine, prompt_of(features))
        await ask(engine, prompt_of(features, "And?"))
        assert engine.frames_encoded == 3


async def test_the_next_question_on_the_same_frames_reuses_them_and_the_usage_says_so(
    tiny_model_folder: Path,
) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, meter):
        features = await encoded(engine, 4)
        cold = (await ask(engine, prompt_of(features, "One?")))[-1].usage
        warm = (await ask(engine, prompt_of(features, "Two?")))[-1].usage
        assert cold is not None
        assert warm is not None
        assert cold.cached_tokens == 0
        assert warm.cached_tokens > 0.8 * warm.prompt_tokens
        assert meter.counts[Metric.PREFIX_TOKENS, (("hit", "yes"),)] == warm.cached_tokens
        assert meter.total(Metric.PREFIX_TOKENS) == cold.prompt_tokens + warm.prompt_tokens


async def test_many_questions_run_in_one_batch_and_no_more_than_allowed(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder, limits=Limits(answers=4, live_places=0)) as (
        engine,
        spy,
        meter,
    ):
        features = await encoded(engine, 2)
        prompts = [prompt_of(features, f"Question {n}?") for n in range(10)]
        together = await asyncio.gather(*(ask(engine, prompt, 20) for prompt in prompts))
        assert max(spy.batches) == 4
        alone = [await ask(engine, prompt, 20) for prompt in prompts]
        assert [text_of(d) for d in together] == [text_of(d) for d in alone]
        await eventually(lambda: meter.gauges[Metric.ENGINE_RUNNING, ()] == 0)


async def test_live_questions_overtake_batch_ones(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder, limits=Limits(answers=1, live_places=0)) as (engine, spy, _):
        spy.gate.clear()
        asked = [
            asyncio.create_task(ask(engine, prompt_of([], f"{n}"), 2, priority=n)) for n in (10, 10, 0, 0)
        ]
        await eventually(lambda: engine.statistics().running == 1)
        await eventually(lambda: engine.statistics().waiting + len(engine._loop_half._inbox) == 3)
        spy.gate.set()
        done, _ = await asyncio.wait(asked[1:3], return_when=asyncio.FIRST_COMPLETED)
        assert done == {asked[2]}
        await asyncio.gather(*asked)


async def test_the_answer_ends_where_the_model_ends_it(tiny_model_folder: Path, tmp_path: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, _):
        features = await encoded(engine, 1)
        whole = text_of(await ask(engine, prompt_of(features)))
        tokens = list(spy.tokens)
    cut = next(n for n in range(2, len(tokens)) if tokens[n] not in tokens[:n])
    folder = build_tiny_model(tmp_path, stop_tokens=(tokens[cut],))
    async with tiny_engine(folder) as (engine, _, _m):
        features = await encoded(engine, 1)
        deltas = await ask(engine, prompt_of(features))
        usage = deltas[-1].usage
        assert deltas[-1].finish is Finish.STOP
        assert usage is not None
        assert usage.completion_tokens == cut
        assert whole.startswith(text_of(deltas))


async def test_a_seed_makes_chance_repeatable(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        prompt = prompt_of(await encoded(engine, 1))
        first, again, other = [
            text_of(await ask(engine, prompt, 20, temperature=3.0, seed=seed)) for seed in (1, 1, 2)
        ]
        assert first == again
        assert first != other
        assert text_of(await ask(engine, prompt, 20)) not in (first, other)


async def test_frames_with_unusable_features_are_left_out_counted_and_named(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, meter):
        good, other = await encoded(engine, 2)
        assert good is not None
        foreign = Features(good.data, good.dtype, good.shape, good.grid, "ffffffffffff")
        prompt = prompt_of([good, foreign, None, other])
        usage = (await ask(engine, prompt))[-1].usage
        assert usage is not None
        assert usage.refused == (prompt.frames[1].ref, prompt.frames[2].ref)
        assert meter.total(Metric.FEATURES_REFUSED) == 2
        assert [f.ref for f in spy.intakes[-1].rendered.frames] == [
            prompt.frames[0].ref,
            prompt.frames[3].ref,
        ]
        with pytest.raises(NoUsableFrames):
            await ask(engine, prompt_of([foreign]))
        assert (await ask(engine, prompt))[-1].finish is not None


async def test_a_prompt_larger_than_the_context_is_refused_with_both_numbers(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        with pytest.raises(PromptTooLarge) as error:
            await ask(engine, prompt_of([], "why? " * 4_000))
        assert error.value.tokens > error.value.limit == 8_192


async def test_two_hundred_cancelled_questions_leave_nothing_behind(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        features = await encoded(engine, 3)
        await ask(engine, prompt_of(features))
        kept, threads = engine.statistics().kept_bytes, threading.active_count()
        for n in range(200):
            task = asyncio.create_task(ask(engine, prompt_of(features, f"Question {n}?"), 2_000))
            if n % 3:
                await asyncio.sleep(0.001 * (n % 5))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await eventually(lambda: engine.statistics().running + engine.statistics().waiting == 0, within_s=2)
        await eventually(lambda: engine.statistics().rows_bytes == 0, within_s=2)
        assert engine.statistics().kept_bytes == kept
        assert threading.active_count() <= threads
        assert not engine._loop_half._asks
        assert (await ask(engine, prompt_of(features)))[-1].finish is Finish.LENGTH


async def test_more_questions_than_it_takes_are_refused_at_once_and_places_come_back(
    tiny_model_folder: Path,
) -> None:
    limits = Limits(answers=2, live_places=0)
    async with tiny_engine(tiny_model_folder, limits=limits, questions=3) as (engine, spy, _):
        spy.gate.clear()
        asked = [asyncio.create_task(ask(engine, prompt_of([]), 2)) for _ in range(3)]
        await eventually(lambda: engine._questions == 3)
        with pytest.raises(DecoderBusy):
            await ask(engine, prompt_of([]))
        asked[2].cancel()
        await asyncio.wait({asked[2]})
        spy.gate.set()
        await asyncio.gather(*asked[:2])
        assert (await ask(engine, prompt_of([]), 2))[-1].finish is not None
        assert engine._questions == 0


async def test_a_cancel_frees_the_place_between_two_steps(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, _):
        stream = engine.generate(prompt_of([]), request_id=RequestId("r"), sampling=SamplingParams(5_000))
        async with aclosing(stream) as deltas:  # type: ignore[type-var]
            async for _ in deltas:
                break
        steps = len(spy.batches)
        await eventually(lambda: engine.statistics().running == 0, within_s=2)
        assert len(spy.batches) <= steps + 3


@pytest.mark.logs_errors
async def test_a_failed_step_fails_what_ran_and_the_engine_goes_on(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, meter):
        features = await encoded(engine, 2)
        before = text_of(await ask(engine, prompt_of(features)))
        spy.fail = ["decode"]
        failed = await asyncio.gather(
            *(ask(engine, prompt_of(features)) for _ in range(3)), return_exceptions=True
        )
        assert any(isinstance(f, DecoderUnavailable) for f in failed)
        assert all(isinstance(f, DecoderUnavailable | list) for f in failed)
        spy.fail = ["prefill"]
        with pytest.raises(DecoderUnavailable):
            await ask(engine, prompt_of(features))
        spy.fail = ["encode"]
        with pytest.raises(DecoderUnavailable):
            await engine.encode(NoisePicture(9))
        assert meter.total(Metric.ENGINE_RESTARTS) == engine.statistics().failures == 3
        assert engine.healthy()
        assert text_of(await ask(engine, prompt_of(features))) == before
        assert (await engine.encode(NoisePicture(9))).tokens > 0
        await eventually(lambda: engine.statistics().rows_bytes == 0)


@pytest.mark.logs_errors
async def test_repeated_failures_make_it_unhealthy_until_it_works_again(tiny_model_folder: Path) -> None:
    settings: dict[str, Any] = {"unhealthy_failures": 2, "retry_after_us": 100_000}
    async with tiny_engine(tiny_model_folder, **settings) as (engine, spy, _):
        spy.fail = ["prefill"] * 3
        for _ in range(2):
            with pytest.raises(DecoderUnavailable):
                await ask(engine, prompt_of([]))
        assert not engine.healthy()
        with pytest.raises(DecoderUnavailable, match="in a row"):
            await ask(engine, prompt_of([]))
        await eventually(engine.healthy)
        with pytest.raises(DecoderUnavailable):
            await ask(engine, prompt_of([]))
        await eventually(engine.healthy)
        assert (await ask(engine, prompt_of([])))[-1].finish is not None
        assert engine.healthy()


async def test_a_picture_nobody_waits_for_any_more_is_not_encoded(tiny_model_folder: Path) -> None:
    limits = Limits(encode_fill_us=30_000_000)
    async with tiny_engine(tiny_model_folder, limits=limits) as (engine, _, _m):
        await engine.encode(
            NoisePicture(0)
        )  # the first one tells how quick this machine is, and waits for none
        task = asyncio.create_task(engine.encode(NoisePicture(1)))
        await eventually(lambda: engine.statistics().pictures == 1)
        task.cancel()
        await eventually(lambda: engine.statistics().pictures == 0)
        assert engine.frames_encoded == 1


async def test_a_picture_the_encoder_makes_no_numbers_of_is_refused_by_name(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, _):
        spy._inner.encode = lambda batch: [
            BadFeatures("features hold values that are not finite") for _ in batch
        ]
        with pytest.raises(BadFeatures):
            await engine.encode(NoisePicture(1))


async def test_closing_fails_what_is_under_way_and_refuses_what_comes_after(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, spy, _):
        spy.gate.clear()
        asked = asyncio.create_task(ask(engine, prompt_of([])))
        await eventually(lambda: engine.statistics().running == 1)
        waiting = asyncio.create_task(engine.encode(NoisePicture(1)))
        await eventually(lambda: len(engine._loop_half._inbox) == 1)
        closing = asyncio.create_task(engine.aclose())
        await eventually(lambda: engine._loop_half._stopping)
        spy.gate.set()
        await closing
        for task in (asked, waiting):
            with pytest.raises(DecoderUnavailable):
                await task
        assert not engine.healthy()
        with pytest.raises(DecoderUnavailable):
            await ask(engine, prompt_of([]))
        with pytest.raises(DecoderUnavailable):
            await engine.encode(NoisePicture(1))
        await engine.aclose()


async def test_a_model_that_does_not_load_ends_the_start_and_leaves_no_thread(
    tiny_model_folder: Path,
) -> None:
    class Broken:
        rows_bytes = kept_bytes = 0
        token_bytes = 1

        def load(self) -> None:
            raise ModelNotLoadable("tiny", "weights are missing")

        def forget(self) -> None:
            pass

    from concurrent.futures import ThreadPoolExecutor

    from models.opening import LocalModel, open_engine

    with ThreadPoolExecutor(1) as executor:
        engine = open_engine(
            LocalModel(str(tiny_model_folder)),
            executor=executor,
            clock=ServiceClock(),
            meter=NullMeter(),
            runner=lambda *_: Broken(),  # type: ignore[arg-type,return-value]
        )
        with pytest.raises(ModelNotLoadable, match="weights are missing"):
            await engine.start()
        assert not engine.healthy()


async def test_the_event_loop_stays_free_while_the_engine_works(tiny_model_folder: Path) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        features = await encoded(engine, 4)
        work = asyncio.gather(*(ask(engine, prompt_of(features, f"{n}"), 60) for n in range(8)))
        loop, longest, last = asyncio.get_running_loop(), 0.0, asyncio.get_running_loop().time()
        while not work.done():
            await asyncio.sleep(0.001)
            now = loop.time()
            longest, last = max(longest, now - last), now
        await work
        assert longest < 0.25


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefill_tokens": 0},
        {"kept_bytes": -1},
        {"rows_bytes": 0},
        {"dtype": "int8"},
        {"unhealthy_failures": 0},
        {"questions": 15},
        {"cpu_threads": -1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        EngineSettings(**wrong)
