"""A bounded queue between two stages of one event loop, with its overflow policy in the constructor."""

import asyncio
from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")


class Overflow(Enum):
    """What a full channel does with one more item."""

    DROP_OLDEST = "drop_oldest"  # live frames: the newest matters most
    WAIT = "wait"  # work already paid for: the sender waits


class ChannelClosed(Exception):
    """Sent into a channel after its end."""


@dataclass(frozen=True, slots=True)
class ChannelStatistics:
    """A snapshot: items waiting now, accepted so far, dropped so far."""

    waiting: int
    accepted: int
    dropped: int


class Channel(Generic[T]):
    """Bounded, one loop, any number of senders, one reader. Iterate to read; iteration ends after ``close``.

    ``close()`` never waits; items accepted before it are still read.
    """

    def __init__(self, capacity: int, overflow: Overflow) -> None:
        if capacity < 1:
            raise ValueError(f"a channel holds at least one item, got {capacity}")
        self._capacity = capacity
        self._overflow = overflow
        self._items: deque[T] = deque()
        self._closed = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._accepted = 0
        self._dropped = 0

    def send_nowait(self, item: T) -> bool:
        """Put ``item`` in. Return False where that made the oldest item leave (DROP_OLDEST).

        Raises:
            ChannelClosed: after ``close``.
            asyncio.QueueFull: the policy is WAIT and there is no room.
        """
        if self._closed:
            raise ChannelClosed
        kept_all = True
        if len(self._items) >= self._capacity:
            if self._overflow is Overflow.WAIT:
                raise asyncio.QueueFull
            self._items.popleft()
            self._dropped += 1
            kept_all = False
        self._items.append(item)
        self._accepted += 1
        self._changed.set()
        if len(self._items) >= self._capacity:
            self._room.clear()
        return kept_all

    async def send(self, item: T) -> None:
        """Put ``item`` in, waiting for room where the policy says so. Raises ChannelClosed."""
        while self._overflow is Overflow.WAIT and len(self._items) >= self._capacity and not self._closed:
            await self._room.wait()
        self.send_nowait(item)

    def close(self) -> None:
        """End the channel for senders; the reader gets what is left, then the end."""
        self._closed = True
        self._changed.set()
        self._room.set()

    def statistics(self) -> ChannelStatistics:
        """Return counts so far."""
        return ChannelStatistics(len(self._items), self._accepted, self._dropped)

    def __aiter__(self) -> "Channel[T]":
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        item = self._items.popleft()
        if not self._closed:
            self._room.set()
        return item
