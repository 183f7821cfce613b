"""In which order a decoder takes questions: one number each, the lower the earlier. Pure.

A live question is given a moment at which it is due: when it came, and later the more it asks for. Whoever has waited
longer is due earlier, so that nobody starves: a large question is passed only by smaller ones that came within a few
seconds after it. Numbers of all processes that share a decoder can be compared, and fit into 32 bits, as some
routers want. What is not live has a number above 0.
"""

CHAT_PRIORITY = 10
"""Of still-image chat: behind every live question, whose number is below 0."""

_LATER_US_PER_TOKEN = 250
"""So much later is a question due for each token: 8,192 tokens cost it two seconds."""

_LABEL_TOKENS = 12
_TEXT_TOKENS = 300
_STEP_US = 100_000
_SINCE_US = 1_767_225_600_000_000  # 2026, so that the numbers last until 2032
_RANGE = 1 << 31


def live_priority(received_us: int, *, tokens: int) -> int:
    """Return the number of a live question, below 0.

    Args:
        received_us: When it was accepted, µs since 1970; what is asked anew for it keeps that time.
        tokens: Estimate of its prompt and its longest answer together.
    """
    due_us = received_us + tokens * _LATER_US_PER_TOKEN
    return (due_us - _SINCE_US) // _STEP_US % _RANGE - _RANGE


def estimated_tokens(*, frames: int, frame_tokens: int, answer_tokens: int) -> int:
    """Return about how many tokens a question takes: its frames with their labels, text around them, the answer."""
    return frames * (frame_tokens + _LABEL_TOKENS) + _TEXT_TOKENS + answer_tokens
