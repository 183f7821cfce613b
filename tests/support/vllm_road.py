"""The service with its words from a real vLLM: cameras over real RTSP, frames by id through a real Redis.

    async with road(served, {"gate": clip}, seconds=25) as opened:   # the clip was played, the window stands still now
        heard = await ask(opened.service.url, {"cameras": ["gate"], "text": "What is there?"})

``served`` is a decoder of ``vllm_shared``; give cameras ids of your own (``own_camera``).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from core.ids import CameraId
from tests.support.asking import to_us
from tests.support.clip_questions import begun_us
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.service import LivelensProcess
from tests.support.vllm_server import counter
from tests.support.vllm_shared import Served

_SECOND_US = 1_000_000
_LATE_S = 60


@dataclass(frozen=True, slots=True)
class Road:
    """A service whose cameras have ended, so that its window stands still.

    Attributes:
        row_us: Stream time at which the first camera's clip began.
    """

    service: LivelensProcess
    served: Served
    row_us: int


def own_camera(name: str) -> CameraId:
    """Return an id that no other test uses."""
    return CameraId(f"{name}-{uuid4().hex[:8]}")


def reading(
    served: Served, *words: str, data_dir: Path | None = None, settings: Mapping[str, str] | None = None
) -> LivelensProcess:
    """Return a service, not started yet, that encodes with the built-in model and gets its words from ``served``."""
    named = {
        "LIVELENS_DECODER_URL": served.url,
        "LIVELENS_REDIS__URL": served.redis_url,
        **(settings or {}),
    }
    return LivelensProcess(["serve", "--model", "builtin", *words], data_dir=data_dir, settings=named)


@asynccontextmanager
async def road(
    served: Served,
    clips: Mapping[CameraId, Path],
    *,
    seconds: float,
    data_dir: Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Road]:
    """Play clips over RTSP for so long into a service, and let the cameras go; all that came is in Redis then."""
    mounts: dict[str, Mount] = {
        camera_id: Mount([clip], report=range(12) if number == 0 else ())
        for number, (camera_id, clip) in enumerate(clips.items())
    }
    cameras = RtspServer(mounts)
    async with cameras:
        words = [
            word for camera_id in clips for word in ("--camera", f"{camera_id}={cameras.url(camera_id)}")
        ]
        async with reading(served, *words, data_dir=data_dir, settings=settings) as service:
            row_us = await begun_us(cameras)
            for camera_id in clips:
                await played(service, camera_id, row_us + round(seconds * _SECOND_US))
            cameras.kill()
            await settled(service, *clips)
            yield Road(service, served, row_us)


async def played(service: LivelensProcess, camera_id: CameraId, until_us: int) -> None:
    """Wait until a camera's window reaches this stream time, within the time that passes between two samples."""
    slack_us = 2 * _SECOND_US
    within_s = max(0.0, until_us / 1e6 - time.time()) + _LATE_S

    def reached() -> bool:
        newest = service.camera(camera_id)["window"]["to"]
        return newest is not None and to_us(newest) >= until_us - slack_us

    await service.until(f"the window of {camera_id} reaches so far", reached, within_s=within_s)


async def settled(service: LivelensProcess, *cameras: CameraId) -> None:
    """Wait until no camera sends any more, and all frames lie in Redis."""
    for camera_id in cameras:
        await service.until_state(camera_id, "offline", "connecting", "stalled", within_s=_LATE_S)

    seen: list[int] = []

    def still() -> bool:
        """Return whether nothing more has come since the last look, and all that came lies in Redis."""
        seen.append(sum(service.camera(camera_id)["window"]["frames"] for camera_id in cameras))
        tiers = {
            tier["tier"]
            for camera_id in cameras
            for tier in service.get(f"/api/v1/cameras/{camera_id}/timeline?last_s=3600")["tiers"]
        }
        waiting = service.counted("livelens_publish_waiting")
        return seen[-2:] == seen[-1:] * 2 and seen[-1] > 0 and tiers == {"redis"} and not waiting

    await service.until("all frames lie in Redis", still, within_s=_LATE_S)


async def encoded_by(served: Served) -> list[float]:
    """Return how many pictures each instance of vLLM has put through its own encoder step so far."""
    return [
        await asyncio.to_thread(counter, url, "vllm:livelens_pictures_encoded_total")
        for url in served.engine_urls
    ]
