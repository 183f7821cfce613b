"""Bytes in pages of a device's memory, allocated once at the start. ``cuda`` and ``cpu`` by the same code; needs torch.

memory = open_memory(8 << 30, "cuda")      # raises PagesRefused, with the line to end the start with
far = memory.store(data)                   # PagedBytes, or None where too few pages are free
far.near(); far.on("cuda:0")               # a copy in memory; a copy made on the device, as a flat tensor
del far                                    # its pages are free again, once nobody holds it any more

On a GPU all reads and writes of pages go through one stream of their own, in the order they were asked for: they wait
for one another and not for what a model computes meanwhile, and no page is written anew before it was read.
"""

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.frames import FarBytes
from featcache.errors import PagesLost, PagesRefused
from featcache.pages import PageIds, PageTable, pages_for

PAGE_BYTES = 16 << 10
"""A frame of 3.2 MB takes 196 pages, one of the built-in model (12 kB) takes one."""

_WORD_BYTES = 8
_AT_ONCE = 256
# Any: torch is an extra, and untyped here.
Tensor = Any


@dataclass(frozen=True, slots=True)
class PagedStatistics:
    """A snapshot: pages in all, those free now, and the bytes of one."""

    pages: int
    free: int
    page_bytes: int


class PagedMemory:
    """Pages on one device. Any thread may read; one thread stores."""

    def __init__(self, budget_bytes: int, device: str, *, page_bytes: int = PAGE_BYTES) -> None:
        """Allocate as many whole pages as the budget holds; at least one. ``page_bytes`` is a multiple of 8.

        Raises what torch raises where the device has not so much.
        """
        import torch

        if page_bytes < _WORD_BYTES or page_bytes % _WORD_BYTES:
            raise ValueError(f"page_bytes must be a multiple of {_WORD_BYTES}, got {page_bytes}")
        self._torch = torch
        self._device = torch.device(device)
        if self._device.type == "cuda" and self._device.index is None:
            self._device = torch.device("cuda", torch.cuda.current_device())
        self._page_bytes = page_bytes
        self._table = PageTable(budget_bytes // page_bytes)
        words = page_bytes // _WORD_BYTES
        on_gpu = self._device.type == "cuda"
        # Words rather than bytes: a GPU gathers them eight times as fast.
        self._pages: Tensor = torch.empty((self._table.pages, words), dtype=torch.int64, device=self._device)
        # What is on its way passes through here, so that nothing is allocated later: a model may fill the rest.
        self._staging: Tensor = torch.empty((_AT_ONCE, words), dtype=torch.int64, pin_memory=on_gpu)
        self._landing: Tensor = torch.empty((_AT_ONCE, words), dtype=torch.int64, device=self._device)
        self._index: Tensor = torch.empty(_AT_ONCE, dtype=torch.int64, device=self._device)
        self._stream = torch.cuda.Stream(self._device) if on_gpu else None
        self._turn = threading.Lock()
        self._returned: deque[PageIds] = deque()  # by whatever thread dropped its bytes last

    @property
    def device(self) -> str:
        """Return the device's name, with its number where it has one."""
        return str(self._device)

    @property
    def capacity_bytes(self) -> int:
        """Return the bytes of all pages."""
        return self._table.pages * self._page_bytes

    def room_bytes(self, size_bytes: int) -> int:
        """Return the bytes of the pages that a piece of this size takes."""
        return pages_for(size_bytes, self._page_bytes) * self._page_bytes

    def statistics(self) -> PagedStatistics:
        """Return what is free now. Call it where ``store`` is called."""
        self._take_back()
        return PagedStatistics(self._table.pages, self._table.free, self._page_bytes)

    def store(self, data: bytes | memoryview) -> "PagedBytes | None":
        """Return a copy in pages; None where too few are free, which is so while readers hold what was let go.

        Raises PagesLost where the device fails.
        """
        self._take_back()
        pages = self._table.take(pages_for(len(data), self._page_bytes))
        if pages is None:
            return None
        stored = PagedBytes(self, pages, len(data))
        self._write(pages, data)
        return stored

    # for PagedBytes

    def read(self, pages: PageIds, size_bytes: int) -> memoryview:
        """Return the first bytes of pages, copied to memory. Raises PagesLost."""
        rows = self._torch.empty((len(pages), self._pages.shape[1]), dtype=self._torch.int64)
        with self._in_turn():
            for at, count, index in self._pieces(pages):
                landed = self._landing[:count]
                self._torch.index_select(self._pages, 0, index, out=landed)
                rows[at : at + count].copy_(landed)
        return memoryview(rows.numpy()).toreadonly().cast("B")[:size_bytes]

    def gather(self, pages: PageIds, size_bytes: int, device: str) -> Tensor | None:
        """Return the same on the device, ready for the caller's stream; None for another device.

        Raises PagesLost, and what torch raises where the copy finds no room on the device.
        """
        if not self._is(device):
            return None
        with self._in_turn():
            rows = self._pages.index_select(0, self._torch.from_numpy(pages).to(self._device))
        if self._stream is not None:
            computing = self._torch.cuda.current_stream(self._device)
            computing.wait_stream(self._stream)
            rows.record_stream(computing)
        return rows.view(self._torch.uint8).view(-1)[:size_bytes]

    def give_back(self, pages: PageIds) -> None:
        """Let pages be free from the next ``store`` on. Never waits, for it is called whenever bytes are dropped."""
        self._returned.append(pages)

    # inside

    def _take_back(self) -> None:
        while self._returned:
            self._table.give_back(self._returned.popleft())

    def _write(self, pages: PageIds, data: bytes | memoryview) -> None:
        source = np.frombuffer(data, np.uint8)
        with self._in_turn():
            for at, count, index in self._pieces(pages):
                staged = self._staging[:count]
                piece = source[at * self._page_bytes : (at + count) * self._page_bytes]
                staged.numpy().reshape(-1).view(np.uint8)[: len(piece)] = piece
                landed = self._landing[:count].copy_(staged)
                self._pages.index_copy_(0, index, landed)

    def _pieces(self, pages: PageIds) -> Iterator[tuple[int, int, Tensor]]:
        """Yield where some of the pages begin, how many they are, and their numbers on the device."""
        for at in range(0, len(pages), _AT_ONCE):
            some = pages[at : at + _AT_ONCE]
            yield at, len(some), self._index[: len(some)].copy_(self._torch.from_numpy(some))

    def _is(self, device: str) -> bool:
        asked = self._torch.device(device)
        if asked.type == "cuda" and asked.index is None:
            asked = self._torch.device("cuda", self._torch.cuda.current_device())
        return bool(asked == self._device)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Have the device do what is asked inside after all that was asked before."""
        stream = self._torch.cuda.stream(self._stream) if self._stream is not None else nullcontext()
        try:
            with self._turn, stream:
                yield
        except self._torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise PagesLost(self.device) from error


class PagedBytes(FarBytes):
    """A piece in pages. They are free again when the last who holds it lets go, so that no reader is overwritten."""

    __slots__ = ("_memory", "_pages", "_size_bytes")

    def __init__(self, memory: PagedMemory, pages: PageIds, size_bytes: int) -> None:
        self._memory = memory
        self._pages = pages
        self._size_bytes = size_bytes

    def __len__(self) -> int:
        return self._size_bytes

    @property
    def room_bytes(self) -> int:
        return self._memory.room_bytes(self._size_bytes)

    def near(self) -> memoryview:
        return self._memory.read(self._pages, self._size_bytes)

    def on(self, device: str) -> Tensor | None:
        return self._memory.gather(self._pages, self._size_bytes, device)

    def __del__(self) -> None:
        self._memory.give_back(self._pages)


def open_memory(budget_bytes: int, device: str) -> PagedMemory:
    """Return pages of this many bytes on a device. Imports torch, which takes seconds.

    Raises PagesRefused: there is no torch, no such device, or not so much memory on it.
    """
    try:
        import torch
    except ImportError:
        raise PagesRefused(
            f"gpu_budget_bytes = {budget_bytes}",
            "the extra 'encoder' is not installed (pip install 'livelens[encoder]')",
        ) from None
    has_bytes = _memory_of(device)
    if budget_bytes > has_bytes:
        raise PagesRefused(
            f"gpu_budget_bytes = {budget_bytes}", f"{device} has {has_bytes} bytes of memory free"
        )
    try:
        return PagedMemory(budget_bytes, device)
    except (RuntimeError, torch.OutOfMemoryError) as error:
        why = str(error).strip().splitlines()[0]
        raise PagesRefused(f"gpu_budget_bytes = {budget_bytes}", f"{device} did not give it: {why}") from None


def _memory_of(device: str) -> int:
    """Return the bytes that are free on a GPU, or that the machine has. Raises PagesRefused for no such device."""
    import torch

    if device == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    there = ["cpu", *(["cuda"] if count else []), *(f"cuda:{number}" for number in range(count))]
    if device not in there:
        raise PagesRefused(
            f"gpu_device = {device!r}", f"there is no such device; there is {', '.join(there)}"
        )
    try:
        free_bytes, _ = torch.cuda.mem_get_info(torch.device(device))
    except RuntimeError as error:
        raise PagesRefused(
            f"gpu_device = {device!r}", f"it does not answer: {str(error).strip().splitlines()[0]}"
        ) from None
    return int(free_bytes)
