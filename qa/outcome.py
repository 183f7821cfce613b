"""Whether a span can be answered from, and if not, why not. Pure."""

from core.spans import subtract
from featcache.window import Head
from qa.answers import Coverage, Outcome

SILENT_US = 5_000_000
"""A camera delivers at least every 2 s. After so long without a frame, time since the newest one is unseen,
even where no gap has been reported yet."""


def outcome_of(coverage: Coverage, *, head: Head, frames: int, now_us: int) -> Outcome:
    """Return OK where something was seen of the span, and otherwise what is wrong with it.

    Args:
        frames: How many frames are held of the span.
    """
    asked = coverage.asked
    if asked.start_us >= now_us:
        return Outcome.FUTURE
    if frames:
        return Outcome.OK
    silent = head.newest_us is None or now_us - head.newest_us > SILENT_US
    seen = [part for part in coverage.covered if not (silent and part.start_us > (head.newest_us or 0))]
    if seen:
        return Outcome.OK
    evicted_us = coverage.evicted_before_us
    if evicted_us is not None and asked.start_us < evicted_us:
        return Outcome.TOO_OLD
    if coverage.gaps and not subtract(asked, (gap.span for gap in coverage.gaps)):
        return Outcome.GAP_ONLY
    if coverage.gaps and (head.oldest_us is None or asked.end_us > head.oldest_us):
        return Outcome.GAP_ONLY
    return Outcome.EMPTY
