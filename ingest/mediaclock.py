"""The clock inside a stream, in exact integers: ticks to µs, wraps undone, new starts noticed. Pure."""

from dataclasses import dataclass
from fractions import Fraction

_WRAPS_TICKS = (1 << 33, 1 << 32)
"""MPEG-TS counts in 33 bits, RTP in 32."""
_SAME_WRAP_S = 10
"""A time that lands so near to the last one once a wrap is undone was a wrap."""
_BACK_DTS_US = 100_000
_BACK_PTS_US = 2_000_000
"""Decode times only rise, but for jitter; times to show go back as far as B frames reorder them."""


@dataclass(frozen=True, slots=True)
class MediaTime:
    """One packet's place on the stream's own clock.

    Attributes:
        pts_us: When to show it, µs from the clock's own zero, wraps undone.
        step_us: How far the clock went on since the last packet; 0 for the first.
        went_back: The clock is behind where it was: it started over.
    """

    pts_us: int
    step_us: int
    went_back: bool


class MediaClock:
    """Reads the clock of one connection's video track.

    ``pts * time_base`` becomes µs here, once, rounded down from exact integers.
    """

    def __init__(self, time_base: Fraction) -> None:
        self._time_base = time_base
        self._offset = 0  # ticks added to undo wraps
        self._pts: int | None = None  # ticks, wraps undone
        self._dts: int | None = None
        self._high = 0  # the furthest the clock has been, ticks

    def read(self, pts: int | None, dts: int | None) -> MediaTime | None:
        """Return where the packet stands, or None where it has no time to show.

        Args:
            pts, dts: In ticks, as the demuxer gives them.
        """
        if pts is None:
            return None
        if self._pts is not None:
            self._offset += self._wrap(pts + self._offset - self._pts)
        at = pts + self._offset
        decode = None if dts is None else dts + self._offset
        went_back, step_us = self._compare(at, decode)
        if went_back:
            self._high = at
        self._high = max(self._high, at) if self._pts is not None else at
        self._pts, self._dts = at, decode
        return MediaTime(self._us(at), step_us, went_back)

    def _compare(self, at: int, decode: int | None) -> tuple[bool, int]:
        if self._pts is None:
            return False, 0
        if decode is not None and self._dts is not None:
            step_us = self._us(decode - self._dts)
            return step_us < -_BACK_DTS_US, step_us
        step_us = self._us(at - self._high)
        return step_us < -_BACK_PTS_US, step_us

    def _wrap(self, step: int) -> int:
        near = int(_SAME_WRAP_S / self._time_base)
        if abs(step) <= near:
            return 0
        for wrap in _WRAPS_TICKS:
            for turn in (wrap, -wrap):
                if abs(step + turn) <= near:
                    return turn
        return 0

    def _us(self, ticks: int) -> int:
        return ticks * self._time_base.numerator * 1_000_000 // self._time_base.denominator
