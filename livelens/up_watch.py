"""What follows when a process that should run has ended. Pure: codes and times in, a verdict out."""

import signal
from dataclasses import dataclass

WRONG_SETTINGS = 2
"""The exit code by which our own commands, and argument parsers in general, say that trying again is useless."""

CANNOT_RUN = frozenset({126, 127})
"""The exit codes of ``setpriv`` and of shells where a program is not there or may not be run."""


NOT_STARTED = 256
"""In place of an exit code, which none of these can be: an address that it needs is taken."""


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """How patiently a process is started again.

    Attributes:
        first_pause_us, longest_pause_us: Pause before a start; it doubles from the first up to the longest.
        steady_us: A process that was ready for so long begins with the first pause again.
        tries: So many starts in a row that never came to ready, when none ever did, and it is given up.
    """

    first_pause_us: int = 1_000_000
    longest_pause_us: int = 60_000_000
    steady_us: int = 60_000_000
    tries: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.first_pause_us <= self.longest_pause_us:
            raise ValueError("first_pause_us must be above 0 and at most longest_pause_us")
        if self.tries < 1:
            raise ValueError(f"tries must be at least 1, got {self.tries}")


@dataclass(frozen=True, slots=True)
class Again:
    """Start it again after a pause."""

    pause_us: int


@dataclass(frozen=True, slots=True)
class GiveUp:
    """It will not come up; ``why`` ends a sentence."""

    why: str


class Restarts:
    """Counts the starts of one process and decides what its end means. All times are monotonic µs."""

    def __init__(self, limits: RestartLimits) -> None:
        self._limits = limits
        self._ever_ready = False
        self._ready_us: int | None = None
        self._failures = 0

    def started(self) -> None:
        """Take note of a start."""
        self._ready_us = None

    def ready(self, now_us: int) -> None:
        """Take note that it answers."""
        self._ever_ready = True
        self._ready_us = now_us

    def ended(self, code: int, now_us: int) -> Again | GiveUp:
        """Return what follows an end that nobody asked for. ``code`` is negative for a signal."""
        limits = self._limits
        if self._ready_us is not None and now_us - self._ready_us >= limits.steady_us:
            self._failures = 0
        self._failures += 1
        if not self._ever_ready:
            if code == WRONG_SETTINGS:
                return GiveUp("it does not start with these settings")
            if code in CANNOT_RUN:
                return GiveUp("it cannot be run")
            if self._failures >= limits.tries:
                return GiveUp(f"it ended {self._failures} times before it was ready")
        doubled = limits.first_pause_us << min(self._failures - 1, 32)
        return Again(min(doubled, limits.longest_pause_us))


def said_of(code: int) -> str:
    """Return how a process ended, in words."""
    if code == NOT_STARTED:
        return "was not started"
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
