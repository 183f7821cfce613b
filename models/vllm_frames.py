"""Which frames of a question vLLM can read, and how they reach it.

    refs ──published?──▶ all there          ▶ by ref
                      └▶ a few gone          ▶ by ref, without them
                      └▶ many gone, or Redis away ▶ inline, thinned, where this process holds them

After a refusal the frames are read whole, as vLLM reads them, and those that cannot be the model's are left out. After
another they go inline, for then it is vLLM that does not reach Redis.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from core.clock import Clock
from core.errors import ServiceError
from core.frames import BadFeatures, Features
from core.ids import FrameRef
from core.meter import Meter, Metric
from models.checkpoint import Checkpoint
from models.errors import DecoderUnavailable, NoUsableFrames
from models.intake import check_features
from models.prompt import FramePart, Prompt
from models.vllm_settings import VllmLimits

logger = logging.getLogger(__name__)

READ_AT_ONCE = 8
"""Frames read whole at a time after a refusal, so that no question brings a whole window into memory."""

_FEW = 8
"""One frame in so many may be missing before it is better to show fewer frames of the whole span."""


class FrameSource(Protocol):
    """What the window knows of the frames that vLLM reads from Redis. The root hands one over.

    The first two raise a ServiceError where Redis does not answer.
    """

    async def published(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        """Return which of these frames vLLM finds now. No frame's data travels.

        What this process holds and Redis does not, or not any more, is brought there first where that is quick.
        """

    async def read(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that Redis holds of these frames, checked; what is gone or forged is left out.

        Forged values are counted by whoever reads them.
        """

    async def held(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        """Return the features that this process holds itself of these frames; may be empty."""


@dataclass(frozen=True, slots=True)
class Load:
    """A question's prompt as it goes out.

    Attributes:
        refused: Frames that were left out of the prompt.
        inline: Features of all its frames, to be sent with it; None sends refs.
    """

    prompt: Prompt
    refused: tuple[FrameRef, ...] = ()
    inline: Mapping[FrameRef, Features] | None = None


def missing_is_few(missing: int, frames: int) -> bool:
    """Return whether a question is better asked without its missing frames than with a few of all."""
    return missing * _FEW <= frames


def thinned(frames: Sequence[FramePart], most: int) -> tuple[FramePart, ...]:
    """Return at most so many frames, evenly chosen, both ends kept where two may be."""
    if len(frames) <= most:
        return tuple(frames)
    if most == 1:
        return (frames[-1],)
    return tuple(frames[round(at * (len(frames) - 1) / (most - 1))] for at in range(most))


def keeping(prompt: Prompt, kept: Sequence[FramePart]) -> Load:
    """Return a prompt with these of its frames only; the others go with their labels. Raises NoUsableFrames."""
    refs = {frame.ref for frame in kept}
    refused = tuple(frame.ref for frame in prompt.frames if frame.ref not in refs)
    if refused and not refs:
        raise NoUsableFrames(len(refused), "vLLM finds none of them")
    parts = tuple(part for part in prompt.parts if not isinstance(part, FramePart) or part.ref in refs)
    return Load(replace(prompt, parts=parts), refused)


class FrameLoader:
    """Decides how a question's frames go out. Remembers for a while what vLLM could not read."""

    def __init__(
        self,
        source: FrameSource | None,
        checkpoint: Checkpoint,
        *,
        limits: VllmLimits,
        clock: Clock,
        meter: Meter,
    ) -> None:
        """Without a ``source`` every frame is taken to be published."""
        self._source = source
        self._checkpoint = checkpoint
        self._limits = limits
        self._clock = clock
        self._meter = meter
        self._unreadable: dict[FrameRef, int] = {}

    async def load(self, prompt: Prompt, *, attempt: int) -> Load:
        """Return what goes out.

        Args:
            attempt: Counts from 1; before each further one vLLM failed the question, and a frame may be to blame.
        Raises:
            NoUsableFrames: there are frames, and none can be read.
            DecoderUnavailable: Redis does not answer, and this process holds none of the frames.
        """
        frames = [frame for frame in prompt.frames if frame.grid is not None and self._may_be_read(frame.ref)]
        if self._source is None or not frames:
            return keeping(prompt, frames)
        if attempt > 2 and (load := await self._inline(self._source, prompt)) is not None:
            return load
        there = await self._published(self._source, frames, again=attempt > 1)
        if there is not None:
            kept = [frame for frame in frames if frame.ref in there]
            if missing_is_few(len(prompt.frames) - len(kept), len(prompt.frames)):
                return keeping(prompt, kept)
        inline = await self._inline(self._source, prompt)
        if inline is not None:
            return inline
        if there is None:
            raise DecoderUnavailable("Redis, from which it reads the frames, does not answer")
        return keeping(prompt, kept)

    async def _published(
        self, source: FrameSource, frames: Sequence[FramePart], *, again: bool
    ) -> frozenset[FrameRef] | None:
        """Return which frames vLLM can read; None where Redis does not answer."""
        refs = [frame.ref for frame in frames]
        try:
            if again:
                return await self._read(source, refs)
            async with asyncio.timeout(self._limits.frames_timeout_us / 1e6):
                return await source.published(refs)
        except (ServiceError, TimeoutError) as error:
            why = error.code if isinstance(error, ServiceError) else "timeout"
            logger.warning("Redis did not say which frames it holds", extra={"code": why})
            return None

    async def _read(self, source: FrameSource, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        good: set[FrameRef] = set()
        unfit = 0
        for start in range(0, len(refs), READ_AT_ONCE):
            some = refs[start : start + READ_AT_ONCE]
            async with asyncio.timeout(self._limits.frames_timeout_us / 1e6):
                found = await source.read(some)
            fit = {ref for ref, features in found.items() if self._fits(features)}
            unfit += len(found) - len(fit)
            good |= fit
        if unfit:
            self._meter.count(Metric.FEATURES_REFUSED, unfit)
        self._remember([ref for ref in refs if ref not in good])
        return frozenset(good)

    async def _inline(self, source: FrameSource, prompt: Prompt) -> Load | None:
        """Return a prompt that carries features, of what this process holds; None where it holds nothing."""
        wanted = thinned(prompt.frames, self._limits.inline_frames)
        held = await source.held([frame.ref for frame in wanted])
        held = {ref: features for ref, features in held.items() if self._fits(features)}
        if not held:
            return None
        return replace(keeping(prompt, [frame for frame in wanted if frame.ref in held]), inline=held)

    def _fits(self, features: Features) -> bool:
        try:
            check_features(features, self._checkpoint)
        except BadFeatures:
            return False
        return True

    def _may_be_read(self, ref: FrameRef) -> bool:
        until_us = self._unreadable.get(ref)
        if until_us is None:
            return True
        if self._clock.mono_us() < until_us:
            return False
        del self._unreadable[ref]
        return True

    def _remember(self, refs: Sequence[FrameRef]) -> None:
        """Leave these frames out for a while, so that the next question does not fail on them first."""
        if not refs:
            return
        logger.warning("frames left out: vLLM could not read them", extra={"frames": len(refs)})
        now_us = self._clock.mono_us()
        self._unreadable = {ref: until_us for ref, until_us in self._unreadable.items() if until_us > now_us}
        self._unreadable.update(dict.fromkeys(refs, now_us + self._limits.unreadable_us))
