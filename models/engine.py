"""The engine: one thread owns the model and turns pictures into features and prompts into token streams.

    encode(picture) ── executor: prepare ──▶ ┐                       ┌─▶ Features
    generate(prompt) ─ executor: take_in ──▶ ┴ inbox ─ engine thread ─┴─▶ Delta, Delta, ...

The thread's own half is in ``engine_loop``; this half belongs to the event loop. Nothing here decides what is
computed next: ``schedule`` does.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import Executor
from contextlib import aclosing
from dataclasses import dataclass, field

from core.clock import Clock
from core.frames import Features, Picture
from core.ids import RequestId
from core.meter import Meter, Metric
from models.checkpoint import Checkpoint
from models.decoder import Delta, ModelProfile, SamplingParams
from models.engine_loop import EngineHealth, EngineLoop, LoopSettings, Runner
from models.engine_work import Ask, DeltaStream, Look
from models.errors import DecoderBusy, DecoderUnavailable
from models.health import Health
from models.intake import Intake, take_in
from models.pictures import prepare
from models.prompt import Dialogue, Prompt
from models.schedule import Limits
from models.text import ChatText

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine works.

    Attributes:
        limits: How much at a time.
        prefill_tokens: Prompt tokens computed in one piece at most; less where a piece would take long. Between
            pieces running answers go on and cancels act.
        rows_bytes: Memory for the attention state of running answers; one answer always may run.
        kept_bytes: Memory for the attention state of the last windows.
        device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``cuda:1``.
        dtype: ``auto`` (the weights' own type where it is quick, else fp32), ``float32``, ``bfloat16``, ``float16``.
        cpu_threads: Threads that compute on the CPU; 0 leaves one core to cameras and clients.
        questions: Questions taken at a time, waiting ones included; more are refused at once.
        unhealthy_failures: So many failures in a row make the engine unhealthy.
        retry_after_us: So long after a failure an unhealthy engine is worth another try.
    """

    limits: Limits = field(default_factory=Limits)
    prefill_tokens: int = 512
    rows_bytes: int = 4 << 30
    kept_bytes: int = 1 << 30
    device: str = "auto"
    dtype: str = "auto"
    cpu_threads: int = 0
    questions: int = 256
    unhealthy_failures: int = 3
    retry_after_us: int = 10_000_000

    def __post_init__(self) -> None:
        if self.prefill_tokens < 1 or self.rows_bytes < 1:
            raise ValueError("prefill_tokens and rows_bytes must be positive")
        if self.kept_bytes < 0 or self.cpu_threads < 0:
            raise ValueError("kept_bytes and cpu_threads must not be negative")
        if self.dtype not in ("auto", "float32", "bfloat16", "float16"):
            raise ValueError(f"dtype must be auto, float32, bfloat16 or float16, not {self.dtype!r}")
        if self.questions < self.limits.answers:
            raise ValueError("questions must be at least limits.answers")
        if self.unhealthy_failures < 1 or self.retry_after_us < 0:
            raise ValueError("unhealthy_failures must be positive, retry_after_us not negative")


@dataclass(frozen=True, slots=True)
class EngineStatistics:
    """A snapshot: answers with a place, questions and pictures that wait, frames encoded and failures so far,
    bytes of attention state of running answers and of kept windows."""

    running: int
    waiting: int
    pictures: int
    frames_encoded: int
    failures: int
    rows_bytes: int
    kept_bytes: int


class Engine:
    """Encodes pictures and answers prompts on this machine. Passes the decoders' contract.

    Use it from one event loop: ``await start()``, ask, ``await aclose()``.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        runner: Runner,
        *,
        text: ChatText,
        executor: Executor,
        clock: Clock,
        meter: Meter,
        settings: EngineSettings,
    ) -> None:
        """``executor`` prepares pictures and prompts; it stays the caller's. ``open_decoder`` puts it all together."""
        self._checkpoint = checkpoint
        self._runner = runner
        self._text = text
        self._executor = executor
        self._clock = clock
        self._meter = meter
        self._settings = settings
        self._loop_half = EngineLoop(
            runner,
            clock=clock,
            meter=meter,
            health=EngineHealth(
                answers=Health(failures=settings.unhealthy_failures, retry_after_us=settings.retry_after_us),
                pictures=Health(failures=settings.unhealthy_failures, retry_after_us=settings.retry_after_us),
            ),
            settings=LoopSettings(settings.limits, settings.prefill_tokens, settings.rows_bytes, text.ends),
        )
        self._thread: threading.Thread | None = None
        self._numbers = iter(range(1 << 62))
        self._questions = 0

    @property
    def profile(self) -> ModelProfile:
        return self._checkpoint.profile

    @property
    def frames_encoded(self) -> int:
        """Return how many frames went through the encoder so far; a caller's difference is what it caused."""
        return self._loop_half.frames_encoded

    def healthy(self) -> bool:
        """Return whether a question sent now has a fair chance of an answer; never waits."""
        return self._thread is not None and self._loop_half.healthy()

    def statistics(self) -> EngineStatistics:
        """Return a snapshot."""
        half, schedule = self._loop_half, self._loop_half.schedule
        return EngineStatistics(
            running=schedule.running,
            waiting=schedule.waiting,
            pictures=schedule.pictures,
            frames_encoded=half.frames_encoded,
            failures=half.failures,
            rows_bytes=self._runner.rows_bytes,
            kept_bytes=self._runner.kept_bytes,
        )

    async def start(self) -> None:
        """Load the model in the engine thread; return when it is ready. Raises ModelNotLoadable."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._thread = threading.Thread(target=self._loop_half.run, args=(ready,), name="engine", daemon=True)
        self._thread.start()
        try:
            await ready
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Fail what is under way with DecoderUnavailable, then join the thread. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._loop_half.stop()
            await asyncio.get_running_loop().run_in_executor(None, thread.join)

    async def encode(self, picture: Picture) -> Features:
        """Return a picture's features. It is prepared in the executor and encoded together with others that wait.

        Raises:
            DecoderUnavailable: the engine failed or is stopping.
            BadFeatures: the encoder made numbers of it that are not finite.
        """
        self._must_run()
        loop = asyncio.get_running_loop()
        prepared = await loop.run_in_executor(self._executor, prepare, picture, self._checkpoint.pictures)
        look = Look(next(self._numbers), prepared, loop.create_future())
        self._loop_half.send(look)
        try:
            return await look.found
        finally:
            if not look.found.done() or look.found.cancelled():
                self._loop_half.cancel(look)

    async def generate(
        self,
        prompt: Prompt | Dialogue,
        *,
        request_id: RequestId,
        sampling: SamplingParams,
        priority: int = 0,
    ) -> AsyncIterator[Delta]:
        """Stream the answer to a prompt. Frames with unusable features are left out, counted, and named in the usage.

        Raises:
            DecoderUnavailable: the engine failed or is stopping; retryable.
            DecoderBusy: too many questions are under way; retryable.
            PromptTooLarge: prompt and answer do not fit the context.
            NoUsableFrames: the prompt has frames, and none of them can be read.
        """
        self._must_run()
        if not self.healthy():
            raise DecoderUnavailable("the engine failed several times in a row")
        if self._questions >= self._settings.questions:
            raise DecoderBusy(self._questions)
        self._questions += 1
        try:
            async with aclosing(self._answer(prompt, request_id, sampling, priority)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self._questions -= 1

    async def _answer(
        self, prompt: Prompt | Dialogue, request_id: RequestId, sampling: SamplingParams, priority: int
    ) -> AsyncGenerator[Delta]:
        loop = asyncio.get_running_loop()
        intake = await loop.run_in_executor(self._executor, self._take_in, prompt, sampling.max_tokens)
        if intake.refused:
            self._meter.count(Metric.FEATURES_REFUSED, len(intake.refused))
            logger.warning(
                "frames left out of a prompt: unusable features", extra={"frames": len(intake.refused)}
            )
        stream = DeltaStream(loop)
        ask = Ask(next(self._numbers), intake, request_id, sampling, priority, stream, self._text.stream())
        self._loop_half.send(ask)
        try:
            while True:
                delta = await stream.next()
                yield delta
                if delta.finish is not None:
                    return
        finally:
            self._loop_half.cancel(ask)

    def _must_run(self) -> None:
        if self._thread is None:
            raise DecoderUnavailable("the engine is not running")

    def _take_in(self, prompt: Prompt | Dialogue, answer_tokens: int) -> Intake:
        text = self._text
        return take_in(
            prompt, self._checkpoint, text=text.encoder, tokens=text.tokens, answer_tokens=answer_tokens
        )
