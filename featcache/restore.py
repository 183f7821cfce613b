"""A pool that begins again takes over what its published copy still holds of a camera's life."""

import asyncio
import logging

from core.errors import ServiceError
from core.ids import CameraId, Incarnation
from core.spans import Span
from featcache.pool import MemoryPool
from featcache.redis import RedisWindow
from featcache.redis_ledger import joined

logger = logging.getLogger(__name__)

_EVER = Span(0, 1 << 60)
_BATCH = 8
_BATCH_BYTES = 32 << 20


async def restore(
    pool: MemoryPool, window: RedisWindow, camera_id: CameraId, incarnation: Incarnation, *, within_us: int
) -> int:
    """Put records, and frames from the newest on, into a pool that has the camera open; return how many frames.

    What does not come in time stays away; a Redis that does not answer, or knows another life, gives 0. Nothing
    is raised for either.
    """
    restored = 0
    try:
        async with asyncio.timeout(within_us / 1e6):
            if (await window.head(camera_id)).incarnation != incarnation:
                return 0
            for record in await window.records(camera_id, _EVER):
                await pool.put_record(camera_id, record, incarnation=incarnation)
            held = set(await window.held_times(camera_id))
            left = [info for info in await window.index(camera_id, _EVER) if info.t_us in held]
            while left:
                sizes = [info.size_bytes for info in left[: -_BATCH - 1 : -1]]
                count = joined(sizes, at_most_bytes=_BATCH_BYTES, at_most=_BATCH)
                batch, left = left[-count:], left[:-count]
                for frame in reversed(await window.held_frames(camera_id, [info.t_us for info in batch])):
                    await pool.put(frame, incarnation=incarnation)
                    restored += 1
    except (ServiceError, TimeoutError):
        pass  # unknown there, away, deleted meanwhile: the window begins with what is there
    if restored:
        logger.info("the window goes on from Redis", extra={"camera_id": camera_id, "frames": restored})
    return restored
