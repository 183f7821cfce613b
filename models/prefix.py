"""Which part of a prompt is already computed: the longest run that it shares with a kept one. Pure.

Two prompts share a run where token ids are equal and the image tokens belong to the same frames. A run never ends
inside a frame, and always leaves at least one token to compute.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from models.chat import Rendered

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """The computed state of a prompt's first ``tokens`` tokens."""

    prompt: Rendered
    tokens: int
    state: T
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A kept state whose first ``tokens`` tokens fit."""

    state: T
    tokens: int


def shared_run(kept: Rendered, kept_tokens: int, wanted: Rendered) -> int:
    """Return how many tokens of ``wanted`` are the same as in the first ``kept_tokens`` of ``kept``."""
    limit = min(kept_tokens, wanted.tokens - 1)
    if limit <= 0:
        return 0
    unequal = np.flatnonzero(kept.ids[:limit] != wanted.ids[:limit])
    run = int(unequal[0]) if unequal.size else limit
    for ours, theirs in zip(wanted.frames, kept.frames, strict=False):
        if ours.start >= run:
            break
        if ours != theirs or ours.end > run:
            return ours.start
    return run


class KeptPrefixes(Generic[T]):
    """Computed states of the last windows, the least recently used leaves first, bounded in bytes and number."""

    MOST = 128
    """Every question is compared with each of them."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._kept: OrderedDict[int, Kept[T]] = OrderedDict()
        self._numbers = iter(range(1 << 62))
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, wanted: Rendered) -> Found[T] | None:
        """Return the kept state that saves most, or None."""
        best_number, best_run = None, 0
        for number, kept in self._kept.items():
            run = shared_run(kept.prompt, kept.tokens, wanted)
            if run > best_run:
                best_number, best_run = number, run
        if best_number is None:
            return None
        self._kept.move_to_end(best_number)
        return Found(self._kept[best_number].state, best_run)

    def wants(self, prompt: Rendered, tokens: int, size_bytes: int) -> bool:
        """Return whether the first ``tokens`` tokens are worth keeping: not kept yet, and they fit at all."""
        if tokens <= 0 or size_bytes > self._budget_bytes:
            return False
        return all(
            shared_run(k.prompt, k.tokens, prompt) < min(tokens, prompt.tokens - 1)
            for k in self._kept.values()
        )

    def keep(self, kept: Kept[T]) -> None:
        """Keep a state; shorter ones that it contains, and the least recently used over budget, leave."""
        inside = [
            number
            for number, old in self._kept.items()
            if old.tokens <= kept.tokens and shared_run(old.prompt, old.tokens, kept.prompt) == old.tokens
        ]
        for number in inside:
            self._drop(number)
        self._kept[next(self._numbers)] = kept
        self._size_bytes += kept.size_bytes
        while self._size_bytes > self._budget_bytes or len(self._kept) > self.MOST:
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._size_bytes = 0

    def _drop(self, number: int) -> None:
        self._size_bytes -= self._kept.pop(number).size_bytes
