"""Features of pictures seen lately, by what the pictures are. Pure.

A client sends the whole dialogue with each message, its pictures included; they are encoded once all the same.
"""

from collections import OrderedDict

from core.frames import Features
from core.ids import FrameRef


class FeatureShelf:
    """Keeps features up to so many bytes; the least recently used go first."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._kept: OrderedDict[FrameRef, Features] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def get(self, ref: FrameRef) -> Features | None:
        """Return a picture's features, None where they are not here any more."""
        if ref in self._kept:
            self._kept.move_to_end(ref)
        return self._kept.get(ref)

    def put(self, ref: FrameRef, features: Features) -> None:
        """Keep a picture's features; those larger than the whole budget are not kept."""
        if len(features.data) > self._budget_bytes:
            return
        if (before := self._kept.pop(ref, None)) is not None:
            self._size_bytes -= len(before.data)
        self._kept[ref] = features
        self._size_bytes += len(features.data)
        while self._size_bytes > self._budget_bytes:
            self._size_bytes -= len(self._kept.popitem(last=False)[1].data)
