"""A process that owns a camera's whole window and has published the newest part of it, as far as others see.

scene = long_scene(seconds=600, end_us=now_us)           # ten minutes of a generated scene, made in one
held = await encoded(scene, camera_id, encoder)
async with owning(redis_url, held, budget_bytes=...):
    ...                                                  # other processes see the camera, and may ask for all of it
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from bench.accuracy_scenes import RecordedScene, record
from core.cameras import CameraState, StateReport
from core.channel import Channel, Overflow
from core.clock import ServiceClock
from core.frames import Sample
from core.ids import CameraId, Incarnation
from core.meter import NullMeter
from core.spans import Span
from featcache.bulletin import Bulletin
from featcache.fill import Encoder, fill
from featcache.pool import MemoryPool
from featcache.published import PublishedWindow
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame, Tier
from models.builtin.scenes import draw, frame_times, kind_of, scene_truth
from models.builtin.seeds import BENCH
from sampler.jpeg import encode_jpeg
from tests.support.bulletins import bulletin_of
from tests.support.published import until

FPS = 1
_EVER = Span(0, 1 << 60)
_SEED = BENCH + 800_000_000 + 411


@dataclass(frozen=True, slots=True)
class LongWindow:
    """What a camera's window holds: every frame with its features, from the encoder of this process."""

    scene: RecordedScene
    frames: Sequence[StoredFrame]

    def bytes_since(self, t_us: int) -> int:
        """Return what the frames from a moment on take."""
        return sum(frame.size_bytes for frame in self.frames if frame.t_us >= t_us)


def long_scene(*, seconds: int, end_us: int) -> RecordedScene:
    """Return what the sampler keeps of a scene that ends at a stream time; takes about a second a minute."""
    kind = kind_of(_SEED, size=(640, 360))
    truth = scene_truth(_SEED, seconds * 1_000_000, kind=kind)
    drawn = draw(_SEED, truth, frame_times(truth.duration_us, FPS))
    return record(truth, drawn, fps=FPS, crf=kind.crf, start_us=end_us - truth.duration_us)


async def encoded(scene: RecordedScene, camera_id: CameraId, encoder: Encoder) -> LongWindow:
    """Return the window that a road would have made of a scene."""
    pool, life, meter = MemoryPool(Settings(), meter=NullMeter()), life_of(camera_id), NullMeter()
    await pool.open_camera(camera_id, life)
    samples: Channel[Sample] = Channel(len(scene.shots), Overflow.WAIT)
    for shot in scene.shots:
        jpeg = encode_jpeg(shot.pixels, 80)
        samples.send_nowait(Sample(camera_id, shot.t_us, 0, shot.reason, shot.motion, shot, jpeg))
    samples.close()
    await fill(
        samples,
        pool,
        camera_id=camera_id,
        incarnation=life,
        encoder=encoder,
        clock=ServiceClock(),
        meter=meter,
    )
    return LongWindow(scene, await pool.fetch([info.ref for info in await pool.index(camera_id, _EVER)]))


def life_of(camera_id: CameraId) -> Incarnation:
    return Incarnation(f"life-{camera_id}")


@asynccontextmanager
async def owning(redis_url: str, held: LongWindow, *, budget_bytes: int) -> AsyncIterator[PublishedWindow]:
    """Hold a window, publish what ``budget_bytes`` of it take, lend the rest, and tell of the camera."""
    settings, meter = Settings(), NullMeter()
    window = PublishedWindow(
        MemoryPool(settings, meter=meter),
        RedisSettings(url=redis_url, redis_budget_bytes=budget_bytes),
        settings=settings,
        clock=ServiceClock(),
        meter=meter,
    )
    camera_id, life = held.frames[0].camera_id, life_of(held.frames[0].camera_id)
    await window.open_camera(camera_id, life)
    told = _bulletin(camera_id, life, held.frames[-1])
    tasks = [
        asyncio.create_task(window.publish()),
        asyncio.create_task(window.lend()),
        asyncio.create_task(window.tell(lambda: [told])),
    ]
    try:
        for frame in held.frames:
            await window.put(frame, incarnation=life)
        for each in held.scene.records:
            await window.put_record(camera_id, each, incarnation=life)
        await until(lambda: _newest_published(window, camera_id), within_s=60)
        yield window
        for task in tasks:
            assert not task.done(), task
        await window.delete_camera(camera_id)
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await window.aclose()


async def _newest_published(window: PublishedWindow, camera_id: CameraId) -> bool:
    """Return whether all that has room in Redis lies there."""
    tiers = [info.tier for info in await window.index(camera_id, _EVER)]
    return tiers[-1] is Tier.REDIS and window.statistics()[0].waiting == 0


def _bulletin(camera_id: CameraId, life: Incarnation, newest: StoredFrame) -> Bulletin:
    report = StateReport(CameraState.OFFLINE, newest.t_us, last_t_us=newest.t_us)
    return bulletin_of(camera_id=camera_id, life=life, report=report, at_us=newest.t_us)
