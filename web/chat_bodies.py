"""How much memory the bodies of requests with pictures may hold together.

Each of them is bounded too; together they would fill the memory if many came at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from web.errors import TooManyUploads


class HeldBodies:
    """Counts the bytes of bodies that are held now."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        return self._held_bytes

    @contextmanager
    def hold(self) -> Iterator["Hold"]:
        """Hold one body, empty at first, for the length of the block."""
        held = Hold(self)
        try:
            yield held
        finally:
            held.release()

    def take(self, size_bytes: int) -> None:
        """Take some more, or give back where negative. Raises TooManyUploads."""
        if self._held_bytes + size_bytes > self._limit_bytes and size_bytes > 0:
            raise TooManyUploads
        self._held_bytes += size_bytes


class Hold:
    """One body's part."""

    def __init__(self, bodies: HeldBodies) -> None:
        self._bodies = bodies
        self._size_bytes = 0

    def grow(self, size_bytes: int) -> None:
        """Count some more bytes of this body. Raises TooManyUploads; what was counted before stays counted."""
        self._bodies.take(size_bytes)
        self._size_bytes += size_bytes

    def release(self) -> None:
        """Give everything back."""
        self._bodies.take(-self._size_bytes)
        self._size_bytes = 0
