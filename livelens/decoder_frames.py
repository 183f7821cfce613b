"""What vLLM can read of the window: Redis, as its connector sees it, and the frames that this process holds itself.

Implements ``models.FrameSource``.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from core.frames import Features
from core.ids import FrameRef, split_frame_ref
from featcache.window import StoredFrame, WindowReader

SOON_S = 0.02
WITHIN_S = 0.08
"""A frame just stored is in Redis a moment later; it is looked for again after so long, and no longer than so."""


class PublishedCopy(Protocol):
    """The window's copy in Redis (``featcache.redis_reader.RedisReader``)."""

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames lie in Redis; return those that do."""

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        """Return whole frames; what is gone or forged is left out."""


class DecoderFrames:
    """Joins the published copy and this process's window."""

    def __init__(self, copy: PublishedCopy, window: WindowReader | None) -> None:
        """``window`` None in a process that holds no frames."""
        self._copy = copy
        self._window = window

    async def published(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        """Return which of these frames lie in Redis; spilled ones are brought there by their owner.

        Raises WindowUnavailable.
        """
        began_s = time.monotonic()
        there = frozenset(await self._copy.promote(refs))
        while (on_their_way := _newer(refs, there)) and time.monotonic() - began_s < WITHIN_S:
            await asyncio.sleep(SOON_S)
            there |= frozenset(await self._copy.promote(on_their_way))
        return there

    async def read(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that Redis holds of these frames. Raises WindowUnavailable."""
        return _features(await self._copy.fetch(refs))

    async def held(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that this process holds of these frames."""
        return {} if self._window is None else _features(await self._window.fetch(refs))


def _features(frames: Sequence[StoredFrame]) -> dict[FrameRef, Features]:
    return {frame.ref: frame.features for frame in frames if frame.features is not None}


def _newer(refs: Sequence[FrameRef], there: frozenset[FrameRef]) -> list[FrameRef]:
    """Return the frames, newer than any that is there of their camera, that are not there: they are on their way."""
    newest: dict[str, int] = {}
    parts = {ref: split_frame_ref(ref) for ref in refs}
    for ref in there & parts.keys():
        camera_id = parts[ref].camera_id
        newest[camera_id] = max(newest.get(camera_id, 0), parts[ref].t_us)
    return [
        ref for ref, part in parts.items() if ref not in there and part.t_us > newest.get(part.camera_id, 0)
    ]
