"""What a follow-up is about where it points at the turn before: "and after that?", 那之前呢. Pure."""

import re

from core.spans import Span

LEAST_US = 60_000_000
"""How far "before that" and "after that" reach at least; otherwise as far as the span they point at is long."""

_BEFORE = re.compile(
    r"\bbefore(?: that| then|hand)\b|(?:那|在那|在此|此)(?:之前|以前)|^之前呢", re.IGNORECASE
)
_AFTER = re.compile(
    r"\bafter(?: that|wards?)\b|\band then\s*\?*$|(?:那|在那|在此|此)(?:之后|以后)|^(?:之后|然后|后来)呢|后来",
    re.IGNORECASE,
)

_SINCE = re.compile(r"\bsince then\b|(?:从那|自那|那)(?:时|以后到现在|以来)", re.IGNORECASE)


def follow_span(text: str, last: Span, *, now_us: int) -> Span:
    """Return the span of a follow-up that names no time: that of the last turn, or what lies right beside it.

    What comes after ends at now at the latest; where nothing has come after yet, it is left whole.
    """
    reach_us = max(LEAST_US, last.duration_us)
    if _BEFORE.search(text) and last.start_us > 0:
        return Span(max(0, last.start_us - reach_us), last.start_us)
    if since := _SINCE.search(text) or _AFTER.search(text):
        end_us = now_us if since.re is _SINCE and last.end_us < now_us else last.end_us + reach_us
        return Span(last.end_us, min(end_us, now_us) if last.end_us < now_us else end_us)
    return last
