"""From a question to its first word in vLLM: frames by pixels, by features inline, by ids cold and warm. ``bench ask --decoder vllm``

A small random Qwen3-VL (about 5 million weights, 80 vision tokens a frame) answers in a real vLLM, one thread in float32. The
frames lie in this process's window and in a real Redis; each way of asking is the product's own, from ``qa`` on. A cold
question is about frames that nobody asked about before, the warm one is another question about the same. ``own_share`` is
the time from the accepted question to the first byte of the request for vLLM.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench.report import Figure, median_figure, p95_figure
from bench.rig import PartMissing
from bench.vllm_rig import ENCODED, FRAME_TOKENS, encoded, jpegs, speaking_model
from core.clock import ServiceClock
from core.errors import ErrorKind, ServiceError
from core.ids import FrameRef
from core.meter import NullMeter
from core.spans import Span
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame
from livelens.decoder_frames import DecoderFrames
from models.checkpoint import Checkpoint, read_checkpoint
from models.openai_settings import OpenAISettings, RemoteLimits
from models.vllm import VllmDecoder
from models.vllm_settings import VllmLimits, VllmSettings
from qa.answers import AnswerDelta, AnswerDone
from tests.support.qa_stage import GATE, LIFE, SECOND_US, Stage
from tests.support.redis_server import RedisServer
from tests.support.tiny_model import SMALL
from tests.support.vllm_server import PYTHON, VllmServer
from tests.support.windows import stored

FRAMES = (4, 16, 32, 64)
ANSWER_TOKENS = 4
STEP_US = SECOND_US // 4
WAYS = ("pixels", "inline", "ids", "ids_warm")


class _NoRedis(ServiceError):
    code = "bench_no_redis"
    kind = ErrorKind.UNAVAILABLE


class _Away:
    """Passes for a published copy that does not answer, so that features go inline."""

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:  # noqa: ARG002
        raise _NoRedis("away on purpose")

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:  # noqa: ARG002
        raise _NoRedis("away on purpose")


@dataclass(slots=True)
class Lap:
    """One question: when it was accepted, sent, and first answered, in seconds."""

    accepted: float = 0.0
    sent: float = 0.0
    first_word: float = 0.0

    @property
    def share_ms(self) -> float:
        return (self.sent - self.accepted) * 1000

    @property
    def first_word_ms(self) -> float:
        return (self.first_word - self.accepted) * 1000


async def measure(*, quick: bool) -> list[Figure]:
    """Return first-word times of each way by number of frames, their ratios, and our own share of them."""
    if not PYTHON.exists():
        raise PartMissing("vLLM's environment; make vllm-env")
    rounds, sent = (3, 12) if quick else (10, 60)
    folder = await asyncio.to_thread(speaking_model, "speaking-qwen3-vl", SMALL)
    checkpoint = read_checkpoint(
        str(folder), frame_tokens=FRAME_TOKENS, window_tokens=FRAME_TOKENS * max(FRAMES)
    )
    with (
        RedisServer() as redis,
        VllmServer(redis_url=redis.tcp_url, model=str(checkpoint.folder)) as server,
    ):
        async with _rig(checkpoint, server.url, redis.tcp_url, rounds) as rig:
            await rig.warm_up()
            laps: dict[tuple[str, int], list[Lap]] = {(way, n): [] for way in WAYS for n in FRAMES}
            for _ in range(rounds):
                for n in FRAMES:
                    for way in ("pixels", "inline", "ids"):
                        start = rig.take(n)
                        laps[way, n].append(await rig.ask(way, start, n, "What happened?"))
                    laps["ids_warm", n].append(await rig.ask("ids", start, n, "And what else was there?"))
            # Few of the above have 64 frames, as the last one has; of our own share more are cheap to have.
            more = [await rig.ask("ids", start, n, f"And what was that, {at}?") for at in range(sent)]
    whole = (*laps["ids", 64], *laps["ids_warm", 64], *more)
    return figures(laps, [lap.share_ms for lap in whole])


def figures(laps: Mapping[tuple[str, int], Sequence[Lap]], shares_ms: Sequence[float]) -> list[Figure]:
    """Return the rows of laps by way and number of frames, and of our own share of questions about 64 frames.

    The spread of a ratio is that of its rounds.
    """
    return [
        *(
            median_figure(f"ask_vllm.{way}.{n}.median", [lap.first_word_ms for lap in taken], "ms")
            for (way, n), taken in laps.items()
        ),
        *(_ratio(f"ask_vllm.ids_over_pixels.{n}", laps["ids", n], laps["pixels", n]) for n in FRAMES),
        _ratio("ask_vllm.warm_64_over_ids_4", laps["ids_warm", 64], laps["ids", 4]),
        median_figure("ask_vllm.own_share.64.median", shares_ms, "ms"),
        p95_figure("ask_vllm.own_share.64.p95", shares_ms, "ms"),
    ]


def _ratio(name: str, over: Sequence[Lap], under: Sequence[Lap]) -> Figure:
    middle = statistics.median(lap.first_word_ms for lap in over) / statistics.median(
        lap.first_word_ms for lap in under
    )
    rounds = [a.first_word_ms / b.first_word_ms for a, b in zip(over, under, strict=True)]
    return Figure(name, middle, "x", (min(middle, *rounds), max(middle, *rounds)), len(rounds))


class _Rig:
    """A window full of frames, and a decoder for each way of asking about them."""

    def __init__(self, stage: Stage, times: Sequence[int], decoders: dict[str, VllmDecoder]) -> None:
        self._stage = stage
        self._times = times
        self._decoders = decoders
        self._next = 0
        self._lap = Lap()
        for decoder in decoders.values():
            decoder._exchange._client.event_hooks = {"request": [self._sending]}

    async def _sending(self, request: Any) -> None:
        if request.method == "POST":
            self._lap.sent = time.monotonic()

    def take(self, frames: int) -> int:
        """Return where so many frames begin that nobody was asked about."""
        start, self._next = self._next, self._next + frames
        return start

    async def warm_up(self) -> None:
        """Let every way compute once, so that nothing is built while it is measured."""
        for way in ("pixels", "inline", "ids"):
            await self.ask(way, self.take(2), 2, "Ready?")

    async def ask(self, way: str, start: int, frames: int, text: str) -> Lap:
        """Ask about ``frames`` frames in one way. Raises PartMissing where vLLM did not answer about all of them."""
        stage = self._stage
        stage.decoder = self._decoders[way]
        times = self._times[start : start + frames]
        question = stage.question(text, window=Span(times[0], times[-1] + 1), max_tokens=ANSWER_TOKENS)
        lap = self._lap = Lap(accepted=time.monotonic())
        done: AnswerDone | None = None
        async with aclosing(stage.asker().ask(question)) as answer:
            async for value in answer:
                if isinstance(value, AnswerDelta) and not lap.first_word:
                    lap.first_word = time.monotonic()
                done = value if isinstance(value, AnswerDone) else done
        if done is None or not lap.first_word or done.frames_used != frames or done.model == "measured":
            raise PartMissing(f"an answer by {way} over {frames} frames: {done}")
        return lap


@asynccontextmanager
async def _rig(checkpoint: Checkpoint, url: str, redis_url: str, rounds: int) -> AsyncIterator[_Rig]:
    total = 3 * rounds * sum(FRAMES) + 6
    stage = await Stage.open()
    redis = RedisSettings(url=redis_url)
    window = RedisWindow(redis, settings=Settings(retention_us=1 << 55), meter=NullMeter())
    await window.open_camera(GATE, LIFE)
    features = await encoded(checkpoint)
    times = [stage.now_us - (total - at) * STEP_US for at in range(total)]
    for (at, t_us), jpeg in zip(enumerate(times), jpegs(), strict=False):
        frame = stored(t_us, seq=at, jpeg=jpeg, features=features[at % ENCODED])
        await stage.window.put(frame, incarnation=LIFE)
        await window.put(frame, incarnation=LIFE)
    limits = RemoteLimits(frame_tokens=FRAME_TOKENS, window_tokens=FRAME_TOKENS * max(FRAMES), attempts=1)
    settings = VllmSettings(OpenAISettings(url, limits=limits), VllmLimits(inline_frames=max(FRAMES)))
    ids = DecoderFrames(window, stage.window)
    decoders = {
        "pixels": VllmDecoder(settings, clock=ServiceClock()),
        "inline": VllmDecoder(
            settings, clock=ServiceClock(), checkpoint=checkpoint, frames=DecoderFrames(_Away(), stage.window)
        ),
        "ids": VllmDecoder(settings, clock=ServiceClock(), checkpoint=checkpoint, frames=ids),
    }
    try:
        for decoder in decoders.values():
            await decoder.start()
        yield _Rig(stage, times, decoders)
    finally:
        for decoder in decoders.values():
            await decoder.aclose()
        await window.aclose()
