"""When to try again: growing pauses with jitter. Pure; chance comes in as a function."""

from collections.abc import Callable

from ingest.settings import IngestSettings


class Retry:
    """Chooses the pause before each attempt to reconnect.

    Pauses double up to a cap and carry a jitter of down to half, so that many cameras behind one switch do
    not all come back in the same instant. Refused passwords have longer pauses of their own: with the
    defaults at most three tries in the first minute, one in five minutes later.
    """

    def __init__(self, settings: IngestSettings, *, chance: Callable[[], float]) -> None:
        """Args:
        chance: Returns numbers from 0 to 1, evenly spread.
        """
        self._settings = settings
        self._chance = chance
        self._failures = 0
        self._slow = False

    def after(self, *, healthy_us: int, slow: bool) -> int:
        """Return the pause in µs after a connection that failed.

        Args:
            healthy_us: How long it brought frames; 0 where it never did.
            slow: Trying again soon would do harm.
        """
        if healthy_us >= self._settings.healthy_after_s * 1_000_000 or slow is not self._slow:
            self._failures = 0
        self._slow = slow
        first_s = self._settings.slow_pause_s if slow else self._settings.first_pause_s
        cap_s = self._settings.longest_slow_pause_s if slow else self._settings.longest_pause_s
        pause_s = min(cap_s, first_s * 2 ** min(self._failures, 30))
        self._failures += 1
        if slow:
            return int(pause_s * (1 + self._chance() / 4) * 1_000_000)  # never sooner than promised
        return int(pause_s * (1 + self._chance()) / 2 * 1_000_000)
