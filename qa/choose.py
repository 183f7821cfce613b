"""Which frames a question looks at. Pure: an index in, some of its rows out, in the same order.

Two rules (a question names a span, or does not):

    no span -> the newest 8 samples of the last 30 s, begun earlier at a sample whose seq is a multiple of 8
    a span  -> all samples in it; over budget, the ones of greatest motion, spread evenly over time
"""

from collections.abc import Sequence

from featcache.window import FrameInfo

RECENT_US = 30_000_000
"""How far back a question without a span looks for its newest samples, µs."""

BLOCK = 8
"""How many newest samples such a question wants; the start is aligned to this many."""

CELL_US = 250_000
"""The smallest cell that thinning keeps one sample of, µs; each level doubles it."""


def recent_count(max_frames: int) -> int:
    """Return how many of the newest index rows ``choose_recent`` may need."""
    return 2 * _block(max_frames) - 1


def choose_recent(newest: Sequence[FrameInfo], *, now_us: int, max_frames: int) -> tuple[FrameInfo, ...]:
    """Return the frames of a question that names no span: 8 to 15 of them, or what there is.

    The start is moved back to the last sample whose ``seq`` is a multiple of 8, so that questions asked one
    after the other begin with the same frames and a kept KV cache serves them. Moving back may go further
    than 30 s; where that sample has aged out, the oldest given begins.

    Args:
        newest: The newest frames before ``now_us``, oldest first, at least ``recent_count`` of them where held.
        max_frames: The budget. Below 15 the block of 8 becomes 4, 2 or 1, so that the result always fits.
    """
    block = _block(max_frames)
    fresh = [at for at, frame in enumerate(newest) if now_us - RECENT_US <= frame.t_us < now_us]
    if not fresh:
        return ()
    start = fresh[-block:][0]
    while start > 0 and newest[start].seq % block != 0:
        start -= 1
    chosen = tuple(newest[start : fresh[-1] + 1])
    return chosen[-max_frames:]


def choose_span(frames: Sequence[FrameInfo], *, max_frames: int) -> tuple[FrameInfo, ...]:
    """Return all frames of a span or, over budget, an even choice of them that favours motion.

    The choice is that of level L, the smallest that fits: of each cell of 2^L × 250 ms, aligned to 1970, the
    sample of greatest motion (the earliest on ties), and the first and last sample. Same frames in, same
    frames out; a choice chosen from again stays as it is.

    Args:
        frames: The samples in ``[start, end)``, oldest first.
        max_frames: At least 1. With 1 only the last is kept, with 2 first and last.
    """
    if len(frames) <= max_frames:
        return tuple(frames)
    if max_frames < 3:
        return (frames[0], frames[-1])[-max_frames:]
    cell_us = CELL_US
    while True:
        chosen = _thin(frames, cell_us)
        if len(chosen) <= max_frames:
            return chosen
        cell_us *= 2  # ends: one cell holds all of them at last, which leaves three frames at most


def max_frames_of(window_tokens: int, frame_tokens: int) -> int:
    """Return how many frames a budget of vision tokens pays for, at least one."""
    return max(1, window_tokens // max(1, frame_tokens))


def _block(max_frames: int) -> int:
    block = BLOCK
    while block > 1 and 2 * block - 1 > max_frames:
        block //= 2
    return block


def _thin(frames: Sequence[FrameInfo], cell_us: int) -> tuple[FrameInfo, ...]:
    best: dict[int, int] = {}
    for at, frame in enumerate(frames):
        cell = frame.t_us // cell_us
        if cell not in best or frame.motion > frames[best[cell]].motion:
            best[cell] = at
    kept = {0, len(frames) - 1, *best.values()}
    return tuple(frames[at] for at in sorted(kept))
