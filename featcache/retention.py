"""Let go of what is older than the settings allow, also for cameras that no longer send anything."""

import asyncio
from collections.abc import Callable, Iterable

from core.clock import Clock
from core.ids import CameraId
from featcache.budget import retention_cutoff_us
from featcache.errors import UnknownCamera, WindowUnavailable
from featcache.settings import Settings
from featcache.window import Window


async def trim_all(window: Window, cameras: Iterable[CameraId], *, now_us: int, settings: Settings) -> int:
    """Trim each camera's window once; return how many frames went. Cameras not in the window are skipped."""
    before_us = retention_cutoff_us(now_us, settings.retention_us)
    gone = 0
    for camera_id in tuple(cameras):
        try:
            gone += await window.trim(camera_id, before_us=before_us)
        except (UnknownCamera, WindowUnavailable):
            continue  # deleted meanwhile, or away: the next round comes soon
    return gone


async def keep_trimmed(
    window: Window,
    cameras: Callable[[], Iterable[CameraId]],
    *,
    clock: Clock,
    settings: Settings,
    every_us: int = 1_000_000,
) -> None:
    """Trim all cameras every so often until cancelled. One such task per process."""
    while True:
        await trim_all(window, cameras(), now_us=clock.now_us(), settings=settings)
        await asyncio.sleep(every_us / 1e6)
