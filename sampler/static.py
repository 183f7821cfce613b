"""Spans in which nothing moved. Pure: reads stream time only."""

from core.records import StaticSpan


class StillWatch:
    """Turn "moving" and "still" into static spans, "unchanged since t".

    A span starts at the last frame that moved (or the first frame of an epoch), is reported once it has
    lasted ``after_us``, grows every ``every_us`` and gets its true end when something moves.
    """

    def __init__(self, *, after_us: int, every_us: int) -> None:
        self._after_us = after_us
        self._every_us = every_us
        self._since_us: int | None = None
        self._still_us: int | None = None
        self._reported_us: int | None = None

    @property
    def since_us(self) -> int | None:
        """Stream time of the last motion, None before the first frame."""
        return self._since_us

    def push(self, t_us: int, *, moving: bool) -> StaticSpan | None:
        """Return the span to store now, or None. ``t_us`` must grow."""
        if self._since_us is None:
            self._since_us = t_us
            return None
        if moving:
            ended = self.finish()
            self._since_us = t_us
            return ended
        self._still_us = t_us
        if self._reported_us is None:
            return self._report(t_us) if t_us - self._since_us >= self._after_us else None
        return self._report(t_us) if t_us - self._reported_us >= self._every_us else None

    def finish(self) -> StaticSpan | None:
        """Return the span that ends here at its full length, or None; then start anew."""
        span = None
        if self._reported_us is not None and self._still_us is not None:
            span = self._report(self._still_us)
        self._since_us = self._still_us = self._reported_us = None
        return span

    def _report(self, end_us: int) -> StaticSpan | None:
        if self._since_us is None or self._reported_us == end_us:
            return None
        self._reported_us = end_us
        return StaticSpan(self._since_us, end_us)
