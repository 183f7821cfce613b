"""What a window in Redis would say of frames, as a test tells it to (``models.vllm_frames.FrameSource``)."""

import asyncio
from collections.abc import Mapping, Sequence

from core.errors import ErrorKind, ServiceError
from core.frames import Features
from core.ids import FrameRef


class RedisGone(ServiceError):
    code = "test_redis_gone"
    kind = ErrorKind.UNAVAILABLE
    retryable = True


class ScriptedFrames:
    """Give it the features that Redis has; change them as the test goes.

    Attributes:
        redis: What Redis holds, whole.
        forged: Frames that are there by name, and whose bytes are none of ours.
        mine: What this process holds itself.
        away: Redis answers nothing: every question about it fails, or waits for ever where ``silent``.
        asked: Names of the calls so far.
    """

    def __init__(self, redis: Mapping[FrameRef, Features] | None = None) -> None:
        self.redis = dict(redis or {})
        self.forged: set[FrameRef] = set()
        self.mine: dict[FrameRef, Features] = {}
        self.away = False
        self.silent = False
        self.asked: list[str] = []

    async def published(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        await self._answer("published")
        return frozenset(ref for ref in refs if ref in self.redis or ref in self.forged)

    async def read(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        await self._answer("read")
        return {ref: self.redis[ref] for ref in refs if ref in self.redis and ref not in self.forged}

    async def held(self, refs: Sequence[FrameRef]) -> Mapping[FrameRef, Features]:
        self.asked.append("held")
        return {ref: self.mine[ref] for ref in refs if ref in self.mine}

    async def _answer(self, call: str) -> None:
        self.asked.append(call)
        if self.silent:
            await asyncio.Event().wait()
        if self.away:
            raise RedisGone("Redis is away")
