"""Streams made inside this process: who makes those of which scheme, handed in by the root.

    "scene:7" --feeds["scene"].open--> Feed --read--> bytes of a container --> PyAV, as from any other address

``ingest`` knows neither the schemes nor who makes them. A feed is read, not run: it owns no thread and waits only
by the ``wait`` it is given, so it ends with its reader.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from core.cameras import Source
from core.ids import CameraId

Wait = Callable[[float], bool]
"""Waits so many seconds; returns at once, and True, when the reader gives up: told to stop, or out of patience."""


class Feed(Protocol):
    """One live stream, as the bytes of a container. Used by one thread, and dropped when that has ended."""

    def read(self, size: int) -> bytes:
        """Return 1 to ``size`` bytes as soon as they are due; none when the stream ends or ``wait`` gives up."""


class FeedKind(Protocol):
    """Makes the streams of one scheme."""

    @property
    def container(self) -> str:
        """Return FFmpeg's name of the format that the feeds are written in."""

    def check(self, source: Source) -> None:
        """Return where the address makes sense. Raises SourceRefused."""

    def open(self, source: Source, *, camera_id: CameraId | None, wait: Wait) -> Feed:
        """Return a stream that begins now, for a camera; None for one that only takes a look.

        Raises SourceRefused, SourceError.
        """


Feeds = Mapping[str, FeedKind]
"""By scheme, in small letters."""

NO_FEEDS: Feeds = MappingProxyType({})
