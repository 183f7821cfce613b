"""A file read in real time: when each packet is due, and times that go on from one round to the next. Pure."""

from fractions import Fraction

_LONGEST_STEP_US = 10_000_000
"""A hole in a file is waited out up to this; a longer one is a clock that leapt."""


class FilePace:
    """Says when the packets of a file are due, and carries their ticks over the seam of a loop.

    A clock that starts over within the file, or packets without times, go on at the pace of the frames before.
    """

    def __init__(self, time_base: Fraction, *, frame_us: int) -> None:
        """Args:
        time_base: Seconds per tick.
        frame_us: How long one frame lasts, as the file declares it; the pace where nothing better is known.
        """
        self._time_base = time_base
        self._step_us = frame_us
        self._due_us = 0
        self._last_dts: int | None = None
        self._offset = 0
        self._low: int | None = None  # of this round, in ticks to show, offset not added
        self._high: int | None = None
        self._first = True

    def due_us(self, pts: int | None, dts: int | None) -> int:
        """Return when the packet is due, µs since the first one of the first round."""
        at = dts if dts is not None else pts
        step_us = self._step(at)
        if not self._first:
            self._due_us += step_us
        self._first = False
        self._last_dts = at
        if pts is not None:
            self._low = pts if self._low is None else min(self._low, pts)
            self._high = pts if self._high is None else max(self._high, pts)
        return self._due_us

    def shift(self, ticks: int | None) -> int | None:
        """Return ticks of this round on a scale that goes on over all rounds."""
        return None if ticks is None else ticks + self._offset

    def next_round(self) -> None:
        """The file begins again: its first frame follows the last one by one frame's time."""
        if self._low is not None and self._high is not None:
            self._offset += self._high - self._low + self._ticks(self._step_us)
        self._last_dts = self._low = self._high = None

    def _step(self, at: int | None) -> int:
        if at is None or self._last_dts is None:
            return self._step_us
        step_us = self._us(at - self._last_dts)
        if not 0 <= step_us <= _LONGEST_STEP_US:
            return self._step_us
        if 0 < step_us <= 1_000_000:
            self._step_us = step_us
        return step_us

    def _us(self, ticks: int) -> int:
        return ticks * self._time_base.numerator * 1_000_000 // self._time_base.denominator

    def _ticks(self, us: int) -> int:
        return max(1, us * self._time_base.denominator // (self._time_base.numerator * 1_000_000))
