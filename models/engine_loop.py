"""The engine thread's own half: takes what arrived, does one round after another, survives what a step throws."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.clock import Clock
from core.errors import ServiceError
from core.frames import BadFeatures, Features
from core.ids import RequestId
from core.meter import Meter, Metric
from models.decoder import SamplingParams
from models.engine_work import Ask, Look
from models.errors import DecoderUnavailable, ModelNotLoadable
from models.health import Health
from models.intake import Intake
from models.pace import Pace
from models.pictures import Prepared
from models.schedule import Limits, Schedule

logger = logging.getLogger(__name__)

STEP_TARGET_US = 250_000
"""No step should take longer: a cancel acts, and a picture or the next word comes, only between steps."""


class Runner(Protocol):
    """The model, as the engine drives it; ``models.qwen_vl`` is the real one. All in the engine thread."""

    @property
    def token_bytes(self) -> int: ...
    @property
    def rows_bytes(self) -> int: ...
    @property
    def kept_bytes(self) -> int: ...

    def load(self) -> None:
        """Get ready. Raises ModelNotLoadable."""

    def encode(self, batch: Sequence[Prepared]) -> list[Features | BadFeatures]:
        """Return each picture's features, or why it has none."""

    def open(self, intake: Intake, sampling: SamplingParams, request_id: RequestId) -> Any:
        """Begin an answer; the value is the runner's own. It tells ``cached_tokens``."""

    def prefill(self, answering: Any, tokens: int) -> int | None:
        """Compute up to ``tokens`` of the prompt; return the first token of the answer when it is through."""

    def step(self, batch: Sequence[Any]) -> list[int]:
        """Return the next token of each answer."""

    def close(self, answering: Any) -> None:
        """Free what an answer holds."""

    def trim(self) -> None:
        """Give back what is only kept for speed."""

    def forget(self) -> None:
        """Drop all state but the weights."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What the thread works by; ``ends`` are the tokens that end an answer."""

    limits: Limits
    prefill_tokens: int
    rows_bytes: int
    ends: frozenset[int]


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """How answering and encoding did lately; pictures that work say nothing about answers."""

    answers: Health
    pictures: Health


class EngineLoop:
    """Runs in the engine thread; ``send``, ``cancel``, ``stop`` and the counters are for other threads too."""

    def __init__(
        self, runner: Runner, *, clock: Clock, meter: Meter, health: EngineHealth, settings: LoopSettings
    ) -> None:
        self._runner = runner
        self._clock, self._meter, self._health, self._settings = clock, meter, health, settings
        self._changed = threading.Condition()
        self._inbox: deque[tuple[bool, Look | Ask]] = deque()  # (is a cancel, what)
        self._stopping = False
        self._ended = False
        self._looks: dict[int, Look] = {}
        self._asks: dict[int, Ask] = {}
        self._piece = Pace(least=32, most=settings.prefill_tokens, target_us=STEP_TARGET_US)
        self._batch = Pace(least=1, most=settings.limits.encode_batch, target_us=STEP_TARGET_US)
        self.schedule: Schedule[int] = Schedule(settings.limits)
        self.frames_encoded = 0
        self.failures = 0

    # ------------------------------------------------------------ from any thread

    def send(self, work: Look | Ask) -> None:
        """Hand work to the engine. Raises DecoderUnavailable once it has ended."""
        with self._changed:
            if self._ended:
                raise DecoderUnavailable("the engine has stopped")
            self._inbox.append((False, work))
            self._changed.notify()

    def cancel(self, work: Look | Ask) -> None:
        """Give work up between two steps; for work that has ended this does nothing."""
        with self._changed:
            self._inbox.append((True, work))
            self._changed.notify()

    def stop(self) -> None:
        """Ask the thread to end after the step under way."""
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def healthy(self) -> bool:
        now_us = self._clock.mono_us()
        return not self._ended and all(
            h.healthy(now_us) for h in (self._health.answers, self._health.pictures)
        )

    # ------------------------------------------------------------ in the engine thread

    def run(self, ready: "asyncio.Future[None]") -> None:
        """Load, tell ``ready``, and work until stopped."""
        try:
            self._runner.load()
            rows = max(1, self._settings.rows_bytes // self._runner.token_bytes)
            self.schedule = Schedule(self._settings.limits, row_tokens=rows)
        except ServiceError as error:
            self._tell(ready, error)
            self._end("the model could not be loaded")
            return
        except Exception as error:
            logger.exception("loading a model failed")
            self._tell(ready, ModelNotLoadable("the model", f"{type(error).__name__}: {error}"))
            self._end("the model could not be loaded")
            return
        self._tell(ready, None)
        try:
            while not self._stopping:
                self._guarded_round()
        finally:
            self._end("the engine is stopping")

    def _guarded_round(self) -> None:
        """Do one round; a fault of our own in it costs all that is under way, but not the engine."""
        try:
            self._round()
        except Exception:  # noqa: BLE001 - logged and counted by _survive
            self._survive(self._health.answers, "round")
            self._fail_everything("the engine failed")

    def _round(self) -> None:
        self._take_inbox()
        todo = self.schedule.next_round(self._clock.mono_us(), pictures=self._batch.size)
        if todo.idle:
            self._wait(todo.wake_us)
            return
        if todo.encode:
            self._encode([self._looks.pop(number) for number in todo.encode])
            self._take_inbox()
        if todo.prefill is not None and todo.prefill in self._asks:
            self._prefill(self._asks[todo.prefill])
            self._take_inbox()
        if batch := [self._asks[number] for number in todo.decode if number in self._asks]:
            self._decode(batch)

    def _wait(self, wake_us: int | None) -> None:
        with self._changed:
            if self._inbox or self._stopping:
                return
            timeout = None if wake_us is None else max(0, wake_us - self._clock.mono_us()) / 1e6
            self._changed.wait(timeout)

    def _take_inbox(self) -> None:
        with self._changed:
            arrived = list(self._inbox)
            self._inbox.clear()
        for is_cancel, work in arrived:
            if is_cancel:
                self._drop(work)
            elif isinstance(work, Look):
                self._looks[work.number] = work
                self.schedule.add_picture(work.number, work.picture.grid, now_us=self._clock.mono_us())
            else:
                self._asks[work.number] = work
                tokens = work.intake.rendered.tokens + work.sampling.max_tokens
                self.schedule.add_question(work.number, priority=work.priority, tokens=tokens)

    def _drop(self, work: Look | Ask) -> None:
        if isinstance(work, Look):
            if self._looks.pop(work.number, None):
                self.schedule.remove(work.number)
        elif work.number in self._asks:
            self._finish(work)

    def _encode(self, looks: list[Look]) -> None:
        begun_us = self._clock.mono_us()
        try:
            found = self._runner.encode([look.picture for look in looks])
        except Exception:  # noqa: BLE001 - the engine outlives whatever a step throws
            self._survive(self._health.pictures, "encode")
            for look in looks:
                look.settle_threadsafe(DecoderUnavailable("encoding failed"))
            return
        self._health.pictures.succeeded()
        took_us = self._clock.mono_us() - begun_us
        self._batch.took(len(looks), took_us)
        self._meter.observe(Metric.ENCODE_SECONDS, took_us / 1e6)
        self._meter.count(Metric.ENCODED, len(looks))
        self.frames_encoded += len(looks)
        for look, features in zip(looks, found, strict=True):
            look.settle_threadsafe(features)

    def _prefill(self, ask: Ask) -> None:
        """Compute a piece of one prompt. Where that fails this question alone fails: no other row was touched."""
        try:
            if ask.answering is None:
                ask.answering = self._runner.open(ask.intake, ask.sampling, ask.request_id)
                ask.cached_tokens = ask.computed = ask.answering.cached_tokens
                self._meter.gauge(Metric.ENGINE_RUNNING, self.schedule.running)
            piece = min(self._piece.size, ask.intake.rendered.tokens - ask.computed)
            begun_us = self._clock.mono_us()
            token = self._runner.prefill(ask.answering, piece)
        except Exception:  # noqa: BLE001 - the engine outlives whatever a step throws
            self._survive(self._health.answers, "prefill")
            self._fail([ask])
            return
        self._piece.took(piece, self._clock.mono_us() - begun_us)
        ask.computed += piece
        if token is None:
            return
        self._health.answers.succeeded()
        self.schedule.prompt_through(ask.number)
        self._meter.count(Metric.PREFIX_TOKENS, ask.cached_tokens, hit="yes")
        self._meter.count(Metric.PREFIX_TOKENS, ask.intake.rendered.tokens - ask.cached_tokens, hit="no")
        self._say(ask, token)

    def _decode(self, batch: list[Ask]) -> None:
        """Compute one more token of every running answer. Where that fails, all that run fail."""
        try:
            tokens = self._runner.step([ask.answering for ask in batch])
        except Exception:  # noqa: BLE001 - the engine outlives whatever a step throws
            self._survive(self._health.answers, "decode")
            self._fail([ask for ask in self._asks.values() if ask.answering is not None])
            return
        self._health.answers.succeeded()
        for ask, token in zip(batch, tokens, strict=True):
            self._say(ask, token)

    def _say(self, ask: Ask, token: int) -> None:
        if ask.push(token, ends=self._settings.ends) is not None:
            self._finish(ask)

    def _finish(self, ask: Ask) -> None:
        """Take a question off everything; it has ended, failed or been cancelled."""
        del self._asks[ask.number]
        self.schedule.remove(ask.number)
        if ask.answering is not None:
            self._runner.close(ask.answering)
            ask.answering = None
        self._meter.gauge(Metric.ENGINE_RUNNING, self.schedule.running)

    def _fail(self, asks: list[Ask]) -> None:
        """End questions with an error; where freeing them fails too, all state is dropped."""
        for ask in asks:
            if ask.number not in self._asks:
                continue  # failed already, when all state was dropped
            ask.fail(DecoderUnavailable("the engine failed while answering"))
            try:
                self._finish(ask)
            except Exception:
                logger.exception("freeing an answer failed; the engine forgets all its state")
                self._forget()

    def _survive(self, health: Health, step: str) -> None:
        """Count a failure and give back what is only kept for speed: memory may be what was missing."""
        logger.error("an engine step failed", extra={"step": step}, exc_info=True)  # noqa: LOG014 - in handlers
        health.failed(self._clock.mono_us())
        self.failures += 1
        self._meter.count(Metric.ENGINE_RESTARTS)
        self._runner.trim()

    def _forget(self) -> None:
        """Drop all attention state, and with it every answer that has any."""
        self._runner.forget()
        for ask in [ask for ask in self._asks.values() if ask.answering is not None]:
            ask.answering = None
            ask.fail(DecoderUnavailable("the engine failed while answering"))
            self._finish(ask)

    def _end(self, why: str) -> None:
        """Fail all that is left, and refuse what comes after."""
        with self._changed:
            self._ended = True
        self._take_inbox()
        self._fail_everything(why)

    def _fail_everything(self, why: str) -> None:
        for look in self._looks.values():
            look.settle_threadsafe(DecoderUnavailable(why))
            self.schedule.remove(look.number)
        for ask in self._asks.values():
            ask.fail(DecoderUnavailable(why))
            self.schedule.remove(ask.number)
        self._looks.clear()
        self._asks.clear()
        self._runner.forget()

    @staticmethod
    def _tell(ready: "asyncio.Future[None]", error: Exception | None) -> None:
        def settle() -> None:
            if ready.done():
                return
            if error is None:
                ready.set_result(None)
            else:
                ready.set_exception(error)

        ready.get_loop().call_soon_threadsafe(settle)
