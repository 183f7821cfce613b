"""Pictures for people: the newest frame, scaled and encoded once for everybody who watches."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from core.clock import Clock
from core.frames import Frame, Picture
from core.ids import CameraId
from livelens.cameras import Cameras
from livelens.road import Road
from sampler import encode_jpeg

WIDTH_PX = 640
QUALITY = 75
PERIOD_US = 200_000


def encode_preview(picture: Picture) -> bytes:
    """Return ``picture`` as JPEG, at most 640 px wide, its shape kept."""
    width = min(WIDTH_PX, picture.width_px)
    height = max(1, round(picture.height_px * width / picture.width_px))
    return encode_jpeg(picture.rgb(width, height), QUALITY)


@dataclass(slots=True)
class _Shared:
    """The last picture made for one camera's viewers."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    frame: Frame | None = None
    jpeg: bytes = b""
    made_us: int = 0


class Previews:
    """Implements ``web.ports.Preview``. Costs nothing for cameras nobody watches."""

    def __init__(self, cameras: Cameras, *, clock: Clock, executor: Executor) -> None:
        self._cameras = cameras
        self._clock = clock
        self._executor = executor
        # By road, not by id: a camera registered anew under an old name must not show the old picture.
        self._shared: WeakKeyDictionary[Road, _Shared] = WeakKeyDictionary()

    async def latest(self, camera_id: CameraId) -> bytes | None:
        """Return the newest picture as JPEG; None before the first. Raises UnknownCamera."""
        shared = await self._current(camera_id)
        return shared.jpeg or None

    async def watch(self, camera_id: CameraId) -> AsyncIterator[bytes]:
        """Yield pictures as they change, at most five a second. Raises UnknownCamera."""
        shown: bytes | None = None
        while True:
            shared = await self._current(camera_id)
            if shared.jpeg and shared.jpeg is not shown:
                shown = shared.jpeg
                yield shown
            await asyncio.sleep(PERIOD_US / 1e6)

    async def _current(self, camera_id: CameraId) -> _Shared:
        road = self._cameras.road(camera_id)
        shared = self._shared.setdefault(road, _Shared())
        async with shared.lock:
            frame = road.newest_frame
            fresh = self._clock.mono_us() - shared.made_us < PERIOD_US and shared.jpeg
            if frame is not None and frame is not shared.frame and not fresh:
                loop = asyncio.get_running_loop()
                shared.jpeg = await loop.run_in_executor(self._executor, encode_preview, frame.picture)
                shared.frame = frame
                shared.made_us = self._clock.mono_us()
        return shared
