"""What vLLM can read of the window: Redis, as its connector sees it, and the frames that this process holds itself.

Implements ``models.FrameSource``. Of its own cameras a process knows what it has published, and asks nobody: on a busy
machine a way to Redis and back costs more than all else that happens between a question and its request.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from core.frames import Features
from core.ids import CameraId, FrameRef, split_frame_ref
from featcache.window import StoredFrame, WindowReader

SOON_S = 0.02
OWN_SOON_S = 0.002
WITHIN_S = 0.08
"""A frame just stored is in Redis a moment later; it is looked for again after so long (our own, in memory, sooner), and
no longer than so."""


class PublishedCopy(Protocol):
    """The window's copy in Redis (``featcache.redis_reader.RedisReader``)."""

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames lie in Redis; return those that do."""

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        """Return whole frames; what is gone or forged is left out."""


class OwnCopy(Protocol):
    """The copy that this process publishes (``featcache.published.PublishedWindow``)."""

    def owns(self, camera_id: CameraId) -> bool:
        """Return whether this process publishes a camera."""

    async def lying_there(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        """Return which frames lie in Redis, as far as is known; never waits for it."""

    def on_their_way(self, refs: Sequence[FrameRef]) -> list[FrameRef]:
        """Return those of frames not there that will be in a moment."""

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        """Have frames lie in Redis; return those that do."""


class DecoderFrames:
    """Joins the published copy and this process's window."""

    def __init__(
        self, copy: PublishedCopy, window: WindowReader | None, *, own: OwnCopy | None = None
    ) -> None:
        """
        Args:
            window: None in a process that holds no frames.
            own: What this process publishes; None where that is nothing.
        """
        self._copy = copy
        self._window = window
        self._own = own

    async def published(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        """Return which of these frames lie in Redis; spilled ones are brought there by their owner.

        Raises WindowUnavailable.
        """
        own = self._own
        if own is None:
            return await self._of_others(refs)
        ours: list[FrameRef] = []
        others: list[FrameRef] = []
        for ref in refs:
            (ours if own.owns(split_frame_ref(ref).camera_id) else others).append(ref)
        there = await self._of_ours(own, ours)
        return there | await self._of_others(others) if others else there

    async def read(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that Redis holds of these frames. Raises WindowUnavailable."""
        return _features(await self._copy.fetch(refs))

    async def held(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that this process holds of these frames."""
        return {} if self._window is None else _features(await self._window.fetch(refs))

    async def _of_ours(self, own: OwnCopy, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        began_s = time.monotonic()
        there = await own.lying_there(refs)
        missing = [ref for ref in refs if ref not in there]
        while (soon := own.on_their_way(missing)) and time.monotonic() - began_s < WITHIN_S:
            await asyncio.sleep(OWN_SOON_S)
            there |= await own.lying_there(soon)
            missing = [ref for ref in missing if ref not in there]
        return there | frozenset(await own.promote(missing)) if missing else there

    async def _of_others(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        began_s = time.monotonic()
        there = frozenset(await self._copy.promote(refs))
        while (soon := _newer(refs, there)) and time.monotonic() - began_s < WITHIN_S:
            await asyncio.sleep(SOON_S)
            there |= frozenset(await self._copy.promote(soon))
        return there


def _features(frames: Sequence[StoredFrame]) -> dict[FrameRef, Features]:
    return {frame.ref: frame.features for frame in frames if frame.features is not None}


def _newer(refs: Sequence[FrameRef], there: frozenset[FrameRef]) -> list[FrameRef]:
    """Return the frames, newer than any that is there of their camera, that are not there: they are on their way."""
    if len(there) == len(refs):
        return []
    newest: dict[str, int] = {}
    parts = {ref: split_frame_ref(ref) for ref in refs}
    for ref in there & parts.keys():
        camera_id = parts[ref].camera_id
        newest[camera_id] = max(newest.get(camera_id, 0), parts[ref].t_us)
    return [
        ref for ref, part in parts.items() if ref not in there and part.t_us > newest.get(part.camera_id, 0)
    ]
