"""Features of the newest frames in pages of a device; older ones, and all pictures, in memory."""

from collections.abc import Mapping
from dataclasses import replace

from core.ids import CameraId
from featcache.narrow import widens
from featcache.paged_memory import PagedMemory
from featcache.paged_share import who_goes
from featcache.shelf import Shelf


def place(shelves: Mapping[CameraId, Shelf], memory: PagedMemory, camera_id: CameraId, t_us: int) -> None:
    """Move the features of a frame just stored to pages, if it is among the newest that fit; others make room.

    Where a reader still holds what has just made room, the frame stays in memory.

    Raises PagesLost where the device fails; frames whose features lie there are gone then.
    """
    shelf = shelves[camera_id]
    frame = shelf.get(t_us)
    features = frame.features if frame else None
    if features is None or features.far is not None:
        return
    if features.dtype.narrow and not widens(features):
        return  # read from a device they would not be checked again
    going = who_goes(
        {camera: shelf.far for camera, shelf in shelves.items()},
        camera_id,
        t_us,
        room_bytes=memory.room_bytes(len(features.data)),
        capacity_bytes=memory.capacity_bytes,
    )
    if going is None:
        return
    for camera, gone_us in going:
        _bring_near(shelves[camera], gone_us)
    stored = memory.store(features.near())
    if stored is not None:
        shelf.hold(t_us, replace(features, data=stored))


def _bring_near(shelf: Shelf, t_us: int) -> None:
    frame = shelf.get(t_us)
    if frame is not None and frame.features is not None:
        shelf.hold(t_us, frame.features.brought_near())
