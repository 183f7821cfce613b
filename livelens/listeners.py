"""Those who want to hear what changes about cameras: each with a channel of its own, so that a slow one costs nobody else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.channel import Channel, Overflow
from core.ids import CameraId
from web.ports import CameraStatus

CHANGES_WAITING = 256

Change = tuple[CameraId, CameraStatus | None]
"""A camera and how it is now; None where it is no more."""


class Listeners:
    """Hands every change to each of them; whoever does not keep up loses the oldest."""

    def __init__(self) -> None:
        self._channels: set[Channel[Change]] = set()

    def __bool__(self) -> bool:
        """Return whether anybody listens."""
        return bool(self._channels)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Channel[Change]]:
        """Listen inside the block."""
        channel: Channel[Change] = Channel(CHANGES_WAITING, Overflow.DROP_OLDEST)
        self._channels.add(channel)
        try:
            yield channel
        finally:
            self._channels.discard(channel)
            channel.close()

    def tell(self, change: Change) -> None:
        """Tell everybody who listens."""
        for channel in self._channels:
            channel.send_nowait(change)
