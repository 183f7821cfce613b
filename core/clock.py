"""What time it is: one clock per process, passed in wherever "now" matters."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells service time and durations."""

    def now_us(self) -> int:
        """Return wall time now, µs since 1970 UTC; never goes back within a process."""

    def mono_us(self) -> int:
        """Return a monotonic count of µs, for durations inside this process only."""


class ServiceClock:
    """Wall time at the start plus monotonic time since.

    A step of the host's clock therefore changes neither ages nor spans. ``host_step_us`` reports how far the
    host's clock has moved away. A forward step that has lasted 60 s is adopted when ``adopt_step`` is next
    called, which the owner does at an epoch's start; a backward one never is.
    """

    ADOPT_AFTER_US = 60_000_000
    NOTICE_US = 500_000

    def __init__(self) -> None:
        self._mono_base_us = time.monotonic_ns() // 1000
        self._wall_base_us = time.time_ns() // 1000
        self._ahead_since_us: int | None = None

    def mono_us(self) -> int:
        return time.monotonic_ns() // 1000 - self._mono_base_us

    def now_us(self) -> int:
        return self._wall_base_us + self.mono_us()

    def host_step_us(self) -> int:
        """Return host wall time less service time, µs; call it regularly, it also dates forward steps."""
        step_us = time.time_ns() // 1000 - self.now_us()
        if step_us < self.NOTICE_US:
            self._ahead_since_us = None
        elif self._ahead_since_us is None:
            self._ahead_since_us = self.mono_us()
        return step_us

    def adopt_step(self) -> int:
        """Take over a forward step of the host's clock that has lasted; return the µs adopted, usually 0."""
        step_us = self.host_step_us()
        if self._ahead_since_us is None or self.mono_us() - self._ahead_since_us < self.ADOPT_AFTER_US:
            return 0
        self._wall_base_us += step_us
        self._ahead_since_us = None
        return step_us


class ManualClock:
    """A clock that moves only when told; for tests and for replay."""

    def __init__(self, now_us: int = 1_700_000_000_000_000) -> None:
        self._now_us = now_us
        self._mono_us = 0

    def now_us(self) -> int:
        return self._now_us

    def mono_us(self) -> int:
        return self._mono_us

    def advance(self, us: int) -> None:
        """Let ``us`` microseconds pass."""
        self._now_us += us
        self._mono_us += us
