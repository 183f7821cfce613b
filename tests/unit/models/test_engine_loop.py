"""The engine thread's half, driven round by round without a thread or a model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from core.clock import ManualClock
from core.frames import BadFeatures, Features, FeatureType
from core.ids import RequestId
from core.meter import Metric, TallyMeter
from models.chat import ChatTokens, render
from models.decoder import SamplingParams
from models.engine_loop import EngineHealth, EngineLoop, LoopSettings
from models.engine_work import Ask, DeltaStream, Look
from models.errors import DecoderUnavailable
from models.health import Health
from models.intake import Intake
from models.pictures import Prepared
from models.prompt import Prompt
from models.schedule import Limits
from models.text import TextStream

END = 0


class Letters:
    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


@dataclass(slots=True)
class Held:
    left: int
    cached_tokens: int = 0


class FakeRunner:
    """Answers every prompt with ``a``; a prompt takes as many pieces as it has tokens over the piece's size."""

    token_bytes = 1
    rows_bytes = kept_bytes = 0

    def __init__(self) -> None:
        self.open_now = 0
        self.trimmed = self.forgotten = 0
        self.fail: set[str] = set()

    def load(self) -> None:
        self._maybe("load")

    def encode(self, batch: Sequence[Prepared]) -> list[Features | BadFeatures]:
        self._maybe("encode")
        made = Features(np.ones(8, "<u2").tobytes(), FeatureType.BF16, (1, 8), (1, 2, 2), "0" * 12)
        return [made for _ in batch]

    def open(self, intake: Intake, sampling: SamplingParams, request_id: RequestId) -> Held:
        self._maybe("open")
        self.open_now += 1
        return Held(intake.rendered.tokens)

    def prefill(self, answering: Held, tokens: int) -> int | None:
        self._maybe("prefill")
        answering.left -= tokens
        return ord("a") if answering.left <= 0 else None

    def step(self, batch: Sequence[Held]) -> list[int]:
        self._maybe("decode")
        return [ord("a")] * len(batch)

    def close(self, answering: Held) -> None:
        self._maybe("close")
        self.open_now -= 1

    def trim(self) -> None:
        self.trimmed += 1

    def forget(self) -> None:
        self.forgotten += 1
        self.open_now = 0

    def _maybe(self, step: str) -> None:
        if step in self.fail:
            raise RuntimeError(step)


class Rig:
    """A loop half with everything it needs, on the test's event loop."""

    def __init__(self, **limits: int) -> None:
        self.runner, self.clock, self.meter = FakeRunner(), ManualClock(), TallyMeter()
        health = EngineHealth(*(Health(failures=2, retry_after_us=1_000) for _ in range(2)))
        settings = LoopSettings(Limits(**limits), prefill_tokens=10, rows_bytes=10_000, ends=frozenset({END}))
        self.half = EngineLoop(
            self.runner, clock=self.clock, meter=self.meter, health=health, settings=settings
        )
        self.half._wait = lambda _: None  # type: ignore[method-assign]  # an idle round ends at once
        self._number = 0

    def ask(self, question: str = "q", *, max_tokens: int = 5, priority: int = 0) -> Ask:
        self._number += 1
        rendered = render(Prompt("", (), question), [], text=Letters(), tokens=ChatTokens(-1, -2, -3, -4, -5))
        text = TextStream(lambda token: bytes([token]))
        stream = DeltaStream(asyncio.get_running_loop())
        ask = Ask(
            self._number,
            Intake(rendered, (), ()),
            RequestId("r"),
            SamplingParams(max_tokens),
            priority,
            stream,
            text,
        )
        self.half.send(ask)
        return ask

    def look(self) -> Look:
        self._number += 1
        picture = Prepared(np.zeros((4, 8), np.float32), (1, 2, 2))
        look = Look(self._number, picture, asyncio.get_running_loop().create_future())
        self.half.send(look)
        return look

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.half._round()


async def text_of(ask: Ask) -> str:
    said = ""
    async with asyncio.timeout(5):
        while (delta := await ask.stream.next()).finish is None:
            said += delta.text
    return said + delta.text


async def test_answers_go_on_while_a_long_prompt_is_computed_in_pieces() -> None:
    rig = Rig()
    short = rig.ask("q" * 5, max_tokens=30)
    rig.rounds(8)
    assert short.said > 0
    long = rig.ask("q" * 200)
    before = short.said
    rig.rounds(6)

    assert long.said == 0
    assert short.said == before + 6


async def test_a_finished_answer_frees_its_place() -> None:
    rig = Rig()
    ask = rig.ask(max_tokens=3)
    rig.rounds(9)

    assert await text_of(ask) == "aaa"
    assert rig.runner.open_now == 0
    assert rig.meter.gauges[Metric.ENGINE_RUNNING, ()] == 0


async def test_a_cancel_acts_between_steps_in_every_place() -> None:
    rig = Rig(answers=2, live_places=0)
    decoding = rig.ask(max_tokens=100)
    rig.rounds(8)
    prefilling = rig.ask("q" * 300)
    rig.rounds(2)
    waiting = rig.ask()
    rig.rounds(1)
    for ask in (decoding, prefilling, waiting):
        rig.half.cancel(ask)
        rig.half.cancel(ask)
    rig.half._take_inbox()

    assert rig.runner.open_now == 0
    assert (rig.half.schedule.running, rig.half.schedule.waiting) == (0, 0)


@pytest.mark.logs_errors
async def test_a_failed_prefill_fails_that_question_alone() -> None:
    rig = Rig()
    running = rig.ask(max_tokens=50)
    rig.rounds(8)
    rig.runner.fail = {"open"}
    unlucky = rig.ask()
    rig.rounds(1)
    rig.runner.fail = set()
    rig.rounds(50)

    with pytest.raises(DecoderUnavailable):
        await text_of(unlucky)
    assert await text_of(running) == "a" * 50
    assert rig.runner.trimmed == 1
    assert rig.meter.total(Metric.ENGINE_RESTARTS) == 1


@pytest.mark.logs_errors
async def test_a_failed_step_fails_all_that_run_but_not_what_waits() -> None:
    rig = Rig(answers=1, live_places=0)
    running, waiting = rig.ask(max_tokens=50), rig.ask(max_tokens=2)
    rig.rounds(8)
    rig.runner.fail = {"decode"}
    rig.rounds(1)
    rig.runner.fail = set()
    rig.rounds(20)

    with pytest.raises(DecoderUnavailable):
        await text_of(running)
    assert await text_of(waiting) == "aa"
    assert rig.runner.open_now == 0


@pytest.mark.logs_errors
async def test_state_that_cannot_be_freed_is_dropped_whole() -> None:
    rig = Rig()
    asks = [rig.ask(max_tokens=50) for _ in range(2)]
    rig.rounds(14)
    rig.runner.fail = {"decode", "close"}
    rig.rounds(1)
    rig.runner.fail = set()

    assert rig.runner.forgotten == 1
    for ask in asks:
        with pytest.raises(DecoderUnavailable):
            await text_of(ask)
    after = rig.ask(max_tokens=2)
    rig.rounds(10)
    assert await text_of(after) == "aa"


@pytest.mark.logs_errors
async def test_a_failed_encode_says_so_to_its_pictures_only() -> None:
    rig = Rig(encode_fill_us=0)
    ask = rig.ask(max_tokens=50)
    rig.rounds(8)
    rig.runner.fail = {"encode"}
    looks = [rig.look(), rig.look()]
    rig.rounds(2)
    rig.runner.fail = set()
    good = rig.look()
    rig.rounds(50)

    for look in looks:
        with pytest.raises(DecoderUnavailable):
            await look.found
    assert (await good.found).tokens == 1
    assert await text_of(ask) == "a" * 50
    assert rig.half.frames_encoded == 1


@pytest.mark.logs_errors
async def test_pictures_that_work_do_not_hide_answers_that_fail() -> None:
    rig = Rig(encode_fill_us=0)
    rig.runner.fail = {"prefill"}
    for _ in range(2):
        rig.ask()
        rig.look()
        rig.rounds(1)

    assert not rig.half.healthy()
    rig.clock.advance(1_000)
    assert rig.half.healthy()


async def test_the_end_fails_what_is_left_and_refuses_what_comes() -> None:
    rig = Rig()
    ask, look = rig.ask(), rig.look()
    rig.half.stop()
    rig.half.run(asyncio.get_running_loop().create_future())

    with pytest.raises(DecoderUnavailable):
        await text_of(ask)
    with pytest.raises(DecoderUnavailable):
        await look.found
    with pytest.raises(DecoderUnavailable):
        rig.ask()
    assert not rig.half.healthy()


@pytest.mark.logs_errors
async def test_whatever_loading_throws_ends_the_start_with_one_line() -> None:
    rig = Rig()
    rig.runner.fail = {"load"}
    ready: Any = asyncio.get_running_loop().create_future()
    rig.half.run(ready)

    with pytest.raises(Exception, match="RuntimeError: load"):
        await ready


@pytest.mark.logs_errors
async def test_a_fault_of_our_own_costs_what_is_under_way_but_not_the_engine() -> None:
    rig = Rig()
    lost, picture = rig.ask(), rig.look()
    rig.half._take_inbox()
    working = rig.half.schedule.next_round

    def broken(*args: Any, **kwargs: Any) -> Any:
        rig.half.schedule.next_round = working  # type: ignore[method-assign]
        raise KeyError("a fault")

    rig.half.schedule.next_round = broken  # type: ignore[method-assign]
    rig.half._guarded_round()

    with pytest.raises(DecoderUnavailable):
        await text_of(lost)
    with pytest.raises(DecoderUnavailable):
        await picture.found
    good = rig.ask(max_tokens=2)
    rig.rounds(10)
    assert await text_of(good) == "aa"
    assert rig.meter.total(Metric.ENGINE_RESTARTS) == 1
