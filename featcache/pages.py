"""Pages of one size, taken and given back: which are free, and nothing else. Pure.

A piece of any length takes whole pages, wherever they lie, so there is nothing that could break up over time: what
fits by count fits, whatever was taken and given back before. The price is half a page a piece, on average.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PageIds = NDArray[np.int64]


def pages_for(size_bytes: int, page_bytes: int) -> int:
    """Return how many pages so many bytes take; at least one."""
    return max(1, -(-size_bytes // page_bytes))


class PageTable:
    """Which of ``pages`` pages are free. What is given back last is taken first."""

    def __init__(self, pages: int) -> None:
        if pages < 1:
            raise ValueError(f"a table needs at least one page, got {pages}")
        self.pages = pages
        self._stack: PageIds = np.arange(pages - 1, -1, -1, dtype=np.int64)
        self._free = pages
        self._taken: NDArray[np.bool_] = np.zeros(pages, np.bool_)

    @property
    def free(self) -> int:
        """Return how many pages nobody has taken."""
        return self._free

    def take(self, count: int) -> PageIds | None:
        """Return the numbers of ``count`` pages, taken from now on; None, and nothing taken, where fewer are free."""
        if count < 1:
            raise ValueError(f"at least one page is taken, not {count}")
        if count > self._free:
            return None
        self._free -= count
        taken = self._stack[self._free : self._free + count][::-1].copy()
        self._taken[taken] = True
        return taken

    def give_back(self, pages: PageIds | Sequence[int]) -> None:
        """Take pages back. Raises ValueError, and takes none, where one of them is not taken or named twice."""
        numbers = np.asarray(pages, np.int64)
        known = bool(((numbers >= 0) & (numbers < self.pages)).all())
        if not known or len(np.unique(numbers)) != len(numbers) or not self._taken[numbers].all():
            raise ValueError("pages given back that are not taken")
        self._taken[numbers] = False
        self._stack[self._free : self._free + len(numbers)] = numbers[::-1]
        self._free += len(numbers)
