"""The published window as questions see it: what is away is said to be away, and never to be empty."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from core.ids import CameraId, FrameRef, split_frame_ref
from core.records import Gap, GapReason, Record
from core.spans import Span
from featcache import FrameInfo, Head, StoredFrame, UnknownCamera, WindowReader, WindowUnavailable
from livelens.errors import CamerasElsewhere

T = TypeVar("T")

_EVER_US = 1 << 60


class Owners(Protocol):
    """What is known of those who fill the window (``livelens.reader_cameras.PublishedCameras``)."""

    @property
    def reached(self) -> bool:
        """Return whether Redis answered when it was last looked at."""

    def knows(self, camera_id: CameraId) -> bool:
        """Return whether there is such a camera, as far as was seen."""

    def silent_since_us(self, camera_id: CameraId) -> int | None:
        """Return since when nothing is heard of a camera's owner, in stream time; None while it is at work."""


class PublishedView:
    """Implements ``featcache.window.WindowReader`` over another one.

    - While Redis does not answer nobody waits for it: WindowUnavailable at once.
    - A camera that is known and not there, because Redis was emptied, is WindowUnavailable until its owner is back.
    - From when an owner was last heard of there is a gap, so that nobody takes silence for quiet.
    """

    def __init__(self, reader: WindowReader, owners: Owners) -> None:
        self._reader = reader
        self._owners = owners

    async def head(self, camera_id: CameraId) -> Head:
        return await self._ask(camera_id, lambda: self._reader.head(camera_id))

    async def index(self, camera_id: CameraId, span: Span) -> tuple[FrameInfo, ...]:
        return await self._ask(camera_id, lambda: self._reader.index(camera_id, span))

    async def newest(self, camera_id: CameraId, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        return await self._ask(
            camera_id, lambda: self._reader.newest(camera_id, before_us=before_us, count=count)
        )

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        if not refs:
            return ()
        return await self._ask(split_frame_ref(refs[0]).camera_id, lambda: self._reader.fetch(refs))

    async def at(self, camera_id: CameraId, t_us: int) -> StoredFrame | None:
        return await self._ask(camera_id, lambda: self._reader.at(camera_id, t_us))

    async def records(self, camera_id: CameraId, span: Span) -> tuple[Record, ...]:
        records = await self._ask(camera_id, lambda: self._reader.records(camera_id, span))
        since_us = self._owners.silent_since_us(camera_id)
        if since_us is None or since_us >= span.end_us or any(map(_is_open, records)):
            return records
        return (*records, Gap(since_us, None, GapReason.SERVICE_STOPPED))

    async def _ask(self, camera_id: CameraId, ask: Callable[[], Awaitable[T]]) -> T:
        if not self._owners.reached:
            raise WindowUnavailable(camera_id)
        try:
            return await ask()
        except UnknownCamera:
            if self._owners.knows(camera_id):
                raise WindowUnavailable(camera_id) from None
            raise


def _is_open(record: Record) -> bool:
    return isinstance(record, Gap) and record.end_us is None


class PublishedPictures:
    """Implements ``web.ports.Preview`` as far as samples go: nobody here sees a camera's every frame."""

    def __init__(self, window: WindowReader) -> None:
        self._window = window

    async def latest(self, camera_id: CameraId) -> bytes | None:
        """Return the picture of the newest sample, as large as it is kept; None before the first, and where it is gone.

        Raises UnknownCamera, WindowUnavailable.
        """
        newest = await self._window.newest(camera_id, before_us=_EVER_US, count=1)
        frames = await self._window.fetch([info.ref for info in newest])
        return frames[0].jpeg if frames else None

    def watch(self, camera_id: CameraId) -> AsyncIterator[bytes]:  # noqa: ARG002  the protocol's
        """Raise CamerasElsewhere: the live picture is where the camera comes in."""
        raise CamerasElsewhere
