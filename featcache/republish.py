"""What Redis lacks of the pool's window of one camera, after it was opened there or was away."""

from core.ids import CameraId, Incarnation
from core.spans import Span
from featcache.pool import MemoryPool
from featcache.redis import RedisWindow
from featcache.window import FrameInfo

_EVER = Span(0, 1 << 60)


async def reconcile(
    pool: MemoryPool, window: RedisWindow, camera_id: CameraId, incarnation: Incarnation
) -> list[FrameInfo]:
    """Make records and index in Redis those of the pool; return the frames whose values are missing, oldest first.

    What Redis lists and the pool does not hold is taken out: nobody could give it to a reader.

    Raises UnknownCamera, StaleIncarnation, WindowUnavailable.
    """
    await window.put_records(camera_id, await pool.records(camera_id, _EVER), incarnation=incarnation)
    listed = {info.t_us: info.ref for info in await window.index(camera_id, _EVER)}
    held = set(await window.held_times(camera_id))
    infos = await pool.index(camera_id, _EVER)
    ours = {info.t_us for info in infos}
    await window.forget(camera_id, [t for t in listed if t not in ours], incarnation=incarnation)
    await window.put_index(
        camera_id, [info for info in infos if listed.get(info.t_us) != info.ref], incarnation=incarnation
    )
    there = {info.t_us for info in infos if info.t_us in held and listed.get(info.t_us) == info.ref}
    pool.spill(camera_id, before_us=_EVER.end_us)  # what it was taken to hold may have gone meanwhile
    pool.publish(camera_id, there)
    return [info for info in infos if info.t_us not in there]
