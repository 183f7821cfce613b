"""One load on vLLM whole, and with prefill and decode apart behind the stock router; and how long KV travels.

    load(n) ─▶ 6 askers, each its next question when its last was answered ─▶ traces ─▶ split_tally: rows, a sentence

A random Qwen3-VL (about 7 million weights, 12 KiB of KV a token) answers in float32, frames by id from a real Redis through the
product's own client. Whole has two threads that compute, the halves one each, so that both have the same machine. How long
KV travels is vLLM's own figure (``nixl_xfer_time``), one question at a time, over shared memory and over TCP.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager

from bench.report import Figure
from bench.rig import PartMissing
from bench.split_tally import (
    FRAMES,
    Asked,
    Served,
    Trace,
    Transfer,
    figures_of,
    load,
    served,
    size_figures,
    transfer_figures,
    when_not_to_split,
)
from bench.vllm_rig import ENCODED, FRAME_TOKENS, encoded, speaking_model
from core.clock import ServiceClock
from core.ids import RequestId
from core.meter import NullMeter
from featcache.redis import RedisWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame
from models.checkpoint import Checkpoint, read_checkpoint
from models.decoder import SamplingParams, Usage
from models.openai_settings import OpenAISettings, RemoteLimits
from models.prompt import FramePart, Prompt
from models.vllm import VllmDecoder
from models.vllm_settings import VllmSettings
from tests.support.qa_stage import GATE, LIFE, SECOND_US
from tests.support.redis_server import RedisServer
from tests.support.tiny_model import TinyShape
from tests.support.vllm_server import PYTHON, ROUTER, RouterServer, VllmServer, counter
from tests.support.windows import stored

ASKERS = 6
ANSWER_TOKENS = 48
SHAPE = TinyShape(
    text_width=256, text_layers=6, text_heads=8, kv_heads=8, vision_width=128, vision_layers=4, vision_heads=4
)
TRAVEL = {"shm": "tcp,sm,self", "tcp": "tcp,self"}
"""Transports that UCX may take (``UCX_TLS``). It takes the quickest, which on one machine is shared memory."""

SAID = {"shm": "shared memory", "tcp": "TCP"}
_FIRST_US = 1_790_000_000 * SECOND_US
_TOLD_WITHIN_S = 20.0


async def measure(*, quick: bool, tell: Callable[[str], None] = print) -> list[Figure]:
    """Return first words, gaps and tokens a second of both ways, and KV transfers by size; tell the sentence."""
    for part, name in ((PYTHON, "vLLM's environment"), (ROUTER, "vllm-router")):
        if not part.exists():
            raise PartMissing(f"{name}; make vllm-env")
    questions, rounds = load(18 if quick else 72), 2 if quick else 6
    folder = await asyncio.to_thread(speaking_model, "speaking-fat-kv", SHAPE)
    checkpoint = read_checkpoint(
        str(folder), frame_tokens=FRAME_TOKENS, window_tokens=FRAME_TOKENS * max(FRAMES)
    )
    transfers: dict[str, list[Transfer]] = {}
    with RedisServer() as redis:
        async with _published(checkpoint, redis.tcp_url, _frames_needed(questions, rounds)) as frames:
            with VllmServer(redis_url=redis.tcp_url, model=str(folder), threads=2) as server:
                whole = await _serve(server.url, checkpoint, frames, questions)
            for name, transports in TRAVEL.items():
                with _apart(redis.tcp_url, str(folder), transports) as (url, decode_url):
                    if name == "shm":
                        apart = await _serve(url, checkpoint, frames, questions)
                    transfers[name] = await _travel(url, decode_url, checkpoint, frames, rounds)
    tell(when_not_to_split(whole, apart, {SAID[name]: some for name, some in transfers.items()}) + "\n")
    return [
        *figures_of("whole", whole),
        *figures_of("apart", apart),
        *size_figures(transfers["shm"]),
        *(figure for name, some in transfers.items() for figure in transfer_figures(name, some)),
    ]


@contextmanager
def _apart(redis_url: str, model: str, transports: str) -> Iterator[tuple[str, str]]:
    """Run the halves and the router before them; yield the router's address and that of the decode half."""
    with ExitStack() as ending:
        halves = [
            VllmServer(role, redis_url=redis_url, model=model, environment={"UCX_TLS": transports})
            for role in ("prefill", "decode")
        ]
        for half in halves:
            ending.callback(half.__exit__, None, None, None)
            half.begin()
        for half in halves:
            half.wait_ready()
        prefill, decode = (half.url for half in halves)
        router = ending.enter_context(RouterServer(prefill, decode))
        yield router.url, decode


async def _serve(
    url: str, checkpoint: Checkpoint, frames: Sequence[StoredFrame], questions: Sequence[Asked]
) -> Served:
    """Return how the whole load was served; a question before it has everything built."""
    async with _decoder(url, checkpoint) as decoder:
        await _ask(decoder, frames[-max(FRAMES) :], "Ready?")
        waiting = iter(enumerate(questions))
        traces: list[Trace] = []

        async def asker() -> None:
            for number, each in waiting:
                some = frames[each.first : each.first + each.frames]
                traces.append(await _ask(decoder, some, f"What happened, {number}?"))

        async with asyncio.TaskGroup() as group:
            for number in range(ASKERS):
                group.create_task(asker(), name=f"asker:{number}")
    return served(traces)


async def _travel(
    url: str, decode_url: str, checkpoint: Checkpoint, frames: Sequence[StoredFrame], rounds: int
) -> list[Transfer]:
    """Return the transfers of questions of each size, one at a time, about frames that nobody asked about before."""
    found: list[Transfer] = []
    end = len(frames) - max(FRAMES)
    async with _decoder(url, checkpoint) as decoder:
        await _ask(decoder, frames[end:], "Still ready?")
        await _settled(decode_url)
        for number in range(rounds):
            for size in FRAMES:
                before = await _transferred(decode_url)
                await _ask(decoder, frames[end - size : end], f"What happened there, {number}?")
                end -= size
                found.append(await _one_more(decode_url, before, size))
    return found


async def _one_more(decode_url: str, before: tuple[float, float, float], frames: int) -> Transfer:
    """Return what the metrics tell of the transfers since; they come a moment after the answer."""
    async with asyncio.timeout(_TOLD_WITHIN_S):
        while (after := await _transferred(decode_url))[0] <= before[0]:  # noqa: ASYNC110 - its own metrics, no event
            await asyncio.sleep(0.05)
    _, seconds, size_bytes = (new - old for new, old in zip(after, before, strict=True))
    return Transfer(frames, seconds * 1000, size_bytes)


async def _settled(decode_url: str) -> None:
    """Return once the metrics have told of all transfers so far."""
    async with asyncio.timeout(_TOLD_WITHIN_S):
        before = await _transferred(decode_url)
        await asyncio.sleep(1)
        while (after := await _transferred(decode_url)) != before:
            before = after
            await asyncio.sleep(1)


async def _transferred(decode_url: str) -> tuple[float, float, float]:
    """Return how many transfers there were, their seconds and their bytes."""
    names = ("xfer_time_seconds_count", "xfer_time_seconds_sum", "bytes_transferred_sum")
    count, seconds, size_bytes = [
        await asyncio.to_thread(counter, decode_url, f"vllm:nixl_{name}") for name in names
    ]
    return count, seconds, size_bytes


async def _ask(decoder: VllmDecoder, frames: Sequence[StoredFrame], text: str) -> Trace:
    """Ask one question. Raises PartMissing where the answer is not a whole one about all frames."""
    parts = tuple(
        FramePart(f"[{number:02d}]", frame.ref, grid=frame.features.grid)
        for number, frame in enumerate(frames)
        if frame.features is not None
    )
    prompt = Prompt("You watch a camera.", parts, text)
    pieces: list[float] = []
    usage: Usage | None = None
    asked = time.monotonic()
    stream = decoder.generate(
        prompt,
        request_id=RequestId(f"req-{frames[0].t_us}-{asked}"),
        sampling=SamplingParams(max_tokens=ANSWER_TOKENS),
    )
    async with aclosing(stream) as deltas:  # type: ignore[type-var]  # the seam says iterator, it is a generator
        async for delta in deltas:
            if delta.text:
                pieces.append(time.monotonic())
            usage = delta.usage or usage
    if usage is None or usage.refused or usage.completion_tokens != ANSWER_TOKENS or len(pieces) < 2:
        raise PartMissing(f"a whole answer about {len(frames)} frames: {usage}, {len(pieces)} pieces")
    return Trace(len(frames), asked, tuple(pieces), usage.completion_tokens)


@asynccontextmanager
async def _decoder(url: str, checkpoint: Checkpoint) -> AsyncIterator[VllmDecoder]:
    settings = VllmSettings(OpenAISettings(url, limits=RemoteLimits(attempts=1)))
    decoder = VllmDecoder(settings, clock=ServiceClock(), checkpoint=checkpoint)
    await decoder.start()
    try:
        yield decoder
    finally:
        await decoder.aclose()


@asynccontextmanager
async def _published(
    checkpoint: Checkpoint, redis_url: str, count: int
) -> AsyncIterator[tuple[StoredFrame, ...]]:
    """Yield so many frames that lie in Redis."""
    window = RedisWindow(
        RedisSettings(url=redis_url), settings=Settings(retention_us=1 << 55), meter=NullMeter()
    )
    try:
        await window.open_camera(GATE, LIFE)
        features = await encoded(checkpoint)
        frames = tuple(
            stored(_FIRST_US + at * SECOND_US, seq=at, features=features[at % ENCODED]) for at in range(count)
        )
        for frame in frames:
            await window.put(frame, incarnation=LIFE)
        yield frames
    finally:
        await window.aclose()


def _frames_needed(questions: Sequence[Asked], rounds: int) -> int:
    """Return how many frames there must be: those of the load, of the transfers, and of the first question."""
    return questions[-1].first + questions[-1].frames + rounds * sum(FRAMES) + max(FRAMES)
