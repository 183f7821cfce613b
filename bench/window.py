"""Putting frames into Redis and getting them back, beside a bare pipeline of the same commands and bytes.

Both take turns over one redis-server on a unix socket, so that what the machine does meanwhile is shared fairly.
A ratio of 1 means that nothing is paid for checks, order, budget and ownership.
"""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.report import Figure, median_figure, p95_figure
from core.clock import ServiceClock
from core.frames import Features, FeatureType, KeepReason
from core.ids import CameraId, Incarnation, make_frame_ref
from core.meter import NullMeter
from core.spans import Span
from featcache.narrow import narrowed
from featcache.pool import MemoryPool
from featcache.published import PublishedWindow
from featcache.redis import RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_link import Command
from featcache.redis_pieces import Pieces
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame, Tier
from tests.support.redis_server import RedisServer

Plain = tuple[str | bytes | int, ...]

PUT_BATCH = 8
GET_BATCH = 32
WARM_UP = 5
ENCODER = "0123456789ab"
LIFE = Incarnation("bench")
OURS, BARE = CameraId("ours"), CameraId("bare")
JPEG = bytes(range(256)) * 24  # a picture of 6 kB


@dataclass(frozen=True, slots=True)
class Size:
    """One size of frames: its name in the table, and tokens × width of its features."""

    name: str
    tokens: int
    width: int

    @property
    def rounds(self) -> int:
        """Return how many batches make a figure."""
        return 30 if self.tokens * self.width > 1 << 20 else 200


SIZES = (Size("18kB", 32, 192), Size("256kB", 64, 2048), Size("3.2MB", 196, 8192))


async def measure(*, quick: bool) -> list[Figure]:
    """Return times and ratios of putting and getting for each size, and bytes per frame."""
    figures: list[Figure] = []
    with RedisServer() as server:
        for size in SIZES:
            server.cli("FLUSHALL")
            figures += _bytes_of(size)
            figures += await _measure_size(size, server.url, rounds=size.rounds // (5 if quick else 1))
        server.cli("FLUSHALL")
        figures += await _measure_lending(server.url, rounds=40 if quick else 200)
    return figures


async def _measure_size(size: Size, url: str, *, rounds: int) -> list[Figure]:
    # The bare pipeline knows no budget: nothing may have to leave while both are measured.
    redis = RedisSettings(
        url=url, redis_budget_bytes=8 << 30, reply_timeout_us=20_000_000, operation_timeout_us=60_000_000
    )
    settings = Settings(retention_us=2 * GET_BATCH)  # one tick of time a frame: this many are kept
    window = RedisWindow(redis, settings=settings, meter=NullMeter(), behind=Tier.MEMORY)
    bare = Bare(url)
    try:
        for camera_id in (OURS, BARE):
            await window.open_camera(camera_id, LIFE)
        put = await _measure_put(size, window, bare, rounds)
        get = await _measure_get(window, bare, rounds // 2)
    finally:
        await window.aclose()
        await bare.aclose()
    return [
        *_figures(f"window.put.{size.name}", put, PUT_BATCH),
        *_figures(f"window.get.{size.name}", get, GET_BATCH),
    ]


async def _measure_put(
    size: Size, window: RedisWindow, bare: "Bare", rounds: int
) -> list[tuple[float, float]]:
    """Return seconds of each batch, ours and bare."""
    blocks = features(size)
    took = []
    for number in range(rounds + WARM_UP):
        first_us = 1 + number * PUT_BATCH
        ours, others = (batch(camera_id, first_us, blocks) for camera_id in (OURS, BARE))
        commands = [whole(command) for command in window.storing(others, incarnation=LIFE)]
        writes = [(frame, LIFE) for frame in ours]
        took.append(await _both(number, lambda w=writes: window.put_many(w), lambda c=commands: bare.run(c)))  # type: ignore[misc]
    return took[WARM_UP:]


async def _measure_get(window: RedisWindow, bare: "Bare", rounds: int) -> list[tuple[float, float]]:
    keys = LifeKeys.of("livelens", BARE, LIFE)
    infos = (await window.index(OURS, Span(0, 1 << 60)))[-GET_BATCH:]
    refs = [info.ref for info in infos]
    commands: list[Plain] = [
        ("HMGET", keys.life, "fence", "owner", "behind"),
        ("MGET", *(keys.frame(info.t_us) for info in infos)),
    ]
    took = [
        await _both(number, lambda: window.fetch(refs), lambda: bare.run(commands))
        for number in range(rounds + WARM_UP)
    ]
    found = await window.fetch(refs)
    if len(found) != GET_BATCH:
        raise AssertionError(f"{len(found)} of {GET_BATCH} frames came back")
    return took[WARM_UP:]


async def _measure_lending(url: str, *, rounds: int) -> list[Figure]:
    """Return how long another process waits for eight frames that only their owner holds."""
    blocks = features(SIZES[0])
    (size_bytes,) = {frame.size_bytes for frame in batch(OURS, 1, blocks)}
    lent = (
        rounds * PUT_BATCH
    )  # what is lent stays for half a minute, so each round asks for frames of its own
    redis = RedisSettings(url=url, redis_budget_bytes=5 * lent * size_bytes)
    pool, settings = MemoryPool(Settings(), meter=NullMeter()), Settings()
    window = PublishedWindow(pool, redis, settings=settings, clock=ServiceClock(), meter=NullMeter())
    reader = RedisReader(redis, meter=NullMeter())
    tasks = [asyncio.create_task(work()) for work in (window.publish, window.lend)]
    try:
        await window.open_camera(OURS, LIFE)
        for number in range(6 * rounds):
            for frame in batch(OURS, 1 + number * PUT_BATCH, blocks):
                await window.put(frame, incarnation=LIFE)
            await _until_published(window, 1 + number * PUT_BATCH)
        waits = []
        for number in range(rounds):
            infos = await reader.index(OURS, Span(1 + number * PUT_BATCH, 1 + (number + 1) * PUT_BATCH))
            began = time.perf_counter()
            found = await reader.fetch([info.ref for info in infos])
            waits.append((time.perf_counter() - began) * 1000)
            if len(found) != PUT_BATCH or {info.tier for info in infos} != {Tier.MEMORY}:
                raise AssertionError(f"{len(found)} of {PUT_BATCH} spilled frames came")
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await reader.aclose()
        await window.aclose()
    return [median_figure("window.lend.median", waits, "ms"), p95_figure("window.lend.p95", waits, "ms")]


async def _until_published(window: PublishedWindow, t_us: int) -> None:
    async with asyncio.timeout(60):
        while (await window.index(OURS, Span(t_us, t_us + 1)))[0].tier is not Tier.REDIS:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def _bytes_of(size: Size) -> list[Figure]:
    """Return the bytes of one frame's features at 16 and at 8 bit."""
    (wide, *_) = features(size)
    counted = {"16bit": len(wide.data), "8bit": len(narrowed(wide).data)}
    return [
        Figure(f"window.bytes.{size.name}.{name}", float(count), "bytes", (count, count), 1)
        for name, count in counted.items()
    ]


async def _both(
    number: int, ours: Callable[[], Awaitable[object]], bare: Callable[[], Awaitable[object]]
) -> tuple[float, float]:
    """Return how long each took, one right after the other, in turns of who begins."""
    if number % 2:
        second = await _seconds(bare)
        return await _seconds(ours), second
    return await _seconds(ours), await _seconds(bare)


async def _seconds(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _figures(name: str, took: Sequence[tuple[float, float]], frames: int) -> list[Figure]:
    ours, bare = [o for o, _ in took], [b for _, b in took]
    ratio = statistics.median(bare) / statistics.median(ours)
    # Of pairs measured side by side: how far chance alone moves the ratio of the medians.
    spread = _interval([b / o for o, b in took])
    return [
        median_figure(f"{name}.ours", [frames / o for o in ours], "frames/s"),
        median_figure(f"{name}.bare", [frames / b for b in bare], "frames/s"),
        Figure(f"{name}.ratio", ratio, "ratio", (min(ratio, spread[0]), max(ratio, spread[1])), len(took)),
    ]


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % interval of the median, by ranks (normal approximation of the binomial)."""
    ordered, n = sorted(values), len(values)
    reach = round(0.98 * n**0.5)
    return ordered[max(0, n // 2 - reach)], ordered[min(n - 1, n // 2 + reach)]


class Bare:
    """The client as it comes, with nothing of ours."""

    def __init__(self, url: str) -> None:
        from redis.asyncio import Redis

        self._client = Redis.from_url(url, protocol=2, socket_timeout=60, socket_connect_timeout=60)

    async def run(self, commands: Sequence[Plain]) -> None:
        """Send commands in one pipeline and read all replies."""
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        await pipeline.execute()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._client.aclose()


def whole(command: Command) -> Plain:
    """Return a command with its values in one piece each."""
    return tuple(each.join() if isinstance(each, Pieces) else each for each in command)


def features(size: Size) -> list[Features]:
    """Return a few different features of this size."""
    random = np.random.default_rng(1)
    shape = (size.tokens, size.width)
    return [
        Features(
            random.integers(0, 0x7F80, size=shape, dtype=np.uint16).tobytes(),
            FeatureType.BF16,
            shape,
            (1, 14, 14),
            ENCODER,
        )
        for _ in range(4)
    ]


def batch(camera_id: CameraId, first_us: int, blocks: Sequence[Features]) -> list[StoredFrame]:
    """Return eight frames one after the other."""
    return [
        StoredFrame(
            make_frame_ref(camera_id, t_us, encoder=ENCODER, detail=str(block.tokens)),
            camera_id,
            t_us,
            t_us,
            KeepReason.MOTION,
            0.1,
            False,
            JPEG,
            640,
            480,
            block,
        )
        for t_us, block in ((first_us + n, blocks[n % len(blocks)]) for n in range(PUT_BATCH))
    ]
