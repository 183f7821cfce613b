"""From a reader's thread to the event loop, bounded: a slow loop loses the oldest frames, never memory."""

import asyncio
import contextlib
import threading
from collections import Counter, deque
from dataclasses import dataclass, replace

from core.frames import Picture
from core.records import EpochClock
from ingest.errors import SourceError


@dataclass(frozen=True, slots=True)
class Opened:
    """The source answered and has a video track."""

    codec: str
    width_px: int
    height_px: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """One good frame, with its place in stream time before times are made to rise."""

    t_us: int
    picture: Picture
    clock: EpochClock
    restarted: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The reader's last word: ``error`` says why, None for the end of a file or a stop."""

    error: SourceError | None


Message = Opened | Decoded | Ended


class Handover:
    """One writer thread, one reading loop. Of frames only the newest ``capacity`` wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, capacity: int) -> None:
        self._loop = loop
        self._capacity = capacity
        self._lock = threading.Lock()
        self._messages: deque[Message] = deque()
        self._frames = 0
        self._skipped: Counter[str] = Counter()
        self._packets = 0
        self._called = False  # a wake-up is on its way: one at a time, however many messages
        self._changed = asyncio.Event()

    def put(self, message: Message) -> None:
        """Hand over one message; from the thread."""
        with self._lock:
            if isinstance(message, Decoded):
                if self._frames >= self._capacity and self._drop_oldest_frame():
                    message = replace(message, restarted=True)
                self._frames += 1
            self._messages.append(message)
        self._wake()

    def skip(self, reason: str) -> None:
        """Count one packet or frame that was not handed over; from the thread."""
        with self._lock:
            self._skipped[reason] += 1

    def packet(self) -> None:
        """Note that a packet came; from the thread."""
        self._packets += 1

    @property
    def packets(self) -> int:
        """How many packets came so far."""
        return self._packets

    def take(self) -> tuple[list[Message], Counter[str]]:
        """Return all that waits, in order, and the skips counted since the last call; from the loop."""
        with self._lock:
            messages, self._messages = list(self._messages), deque()
            skipped, self._skipped = self._skipped, Counter()
            self._frames = 0
            self._called = False
            self._changed.clear()
        return messages, skipped

    async def wait(self, seconds: float) -> None:
        """Return when something waits, or when the time is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _wake(self) -> None:
        with self._lock:
            if self._called:
                return
            self._called = True
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._changed.set)

    def _drop_oldest_frame(self) -> bool:
        """Let the oldest frame go; return True where its mark must pass to the frame about to be put."""
        frames = [(at, message) for at, message in enumerate(self._messages) if isinstance(message, Decoded)]
        at, oldest = frames[0]
        if oldest.restarted and len(frames) > 1:
            self._messages[frames[1][0]] = replace(frames[1][1], restarted=True)
        del self._messages[at]
        self._frames -= 1
        self._skipped["slow_loop"] += 1
        return oldest.restarted and len(frames) == 1
