"""Ends a PyAV call that blocks, from outside and at once.

FFmpeg asks, about ten times a second while it waits, whether to go on; PyAV answers by comparing
``time.monotonic()`` with the limit given to ``av.open``, so nothing but that limit can end the call, and some
calls last twice as long. This module lets PyAV ask a clock of ours instead, which is the true one until a
reader is told to stop or its own limit has passed, and then runs away. Measured: a blocked ``av.open`` ends
3 ms after it is told to. Should PyAV one day keep time in another way, its own limits still hold; a test says
so at once.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import av.container.core as pyav

_log = logging.getLogger(__name__)
_mine = threading.local()
_far_s = 1e9


class Interrupter:
    """Tells the blocking calls of one thread when to give up. ``stop()`` may be called from any thread."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._limit_s: float | None = None
        self._fired = False
        self._away_s = 0.0

    def stop(self) -> None:
        """End the current blocking call and every later one."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @property
    def timed_out(self) -> bool:
        """Whether the limit passed during the calls since it was set."""
        return self._fired

    def limit(self, seconds: float) -> None:
        """From now on blocking calls end when ``seconds`` have passed."""
        self._fired = False
        self._limit_s = time.monotonic() + seconds

    def wait(self, seconds: float) -> bool:
        """Wait, not in a call of PyAV's; return at once, and True, when told to stop."""
        return self._stop.wait(max(0.0, seconds))

    def wait_within_limit(self, seconds: float) -> bool:
        """Wait as a blocking call would; return at once, and True, when told to stop or when the limit passes."""
        left_s = seconds if self._limit_s is None else min(seconds, self._limit_s - time.monotonic())
        if self._stop.wait(max(0.0, left_s)):
            return True
        self._fired = self._fired or left_s < seconds
        return self._fired

    @contextmanager
    def bound(self) -> Iterator[None]:
        """Within this block the calling thread's PyAV calls listen to this object."""
        _install()
        _mine.interrupter = self
        try:
            yield
        finally:
            _mine.interrupter = None

    def now_s(self) -> float:
        """Return what PyAV is told the time is."""
        now_s = time.monotonic()
        if self._limit_s is not None and now_s > self._limit_s:
            self._fired = True
        if self._fired or self._stop.is_set():
            # Each answer is later than the last: PyAV also takes the start of its next limit from here.
            self._away_s += _far_s
        return now_s + self._away_s


class _Clock:
    """Stands where PyAV looks up the module ``time``."""

    @staticmethod
    def monotonic() -> float:
        interrupter: Interrupter | None = getattr(_mine, "interrupter", None)
        return time.monotonic() if interrupter is None else interrupter.now_s()

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)


def _install() -> None:
    found = getattr(pyav, "time", None)
    if found is time:
        setattr(pyav, "time", _Clock())  # noqa: B010 - a plain assignment is one that the type checker refuses
    elif not isinstance(found, _Clock):
        _log.warning("blocking reads cannot be interrupted with this version of PyAV")
