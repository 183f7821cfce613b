"""Which request waits for which frame, what is kept ready, and what must be fetched. Pure; no clock, no vLLM.

A frame that is ready stays as long as any request needs it, and after that until its room is needed: the next
question about the same moment finds it here. ``vLLM`` must never be told that a frame is there and then not get
it, so nothing that a request needs is ever let go.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from core.ids import FrameRef
from featcache.vllm_connector_checks import Grid, Refusal, Wanted, shape_fits

ValueT = TypeVar("ValueT")


class Stand(Enum):
    """Where a request stands with its frames."""

    READY = "ready"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Staged(Generic[ValueT]):
    """The features of one frame, ready for the engine."""

    value: ValueT
    size_bytes: int
    tokens: int
    grid: Grid


@dataclass(frozen=True, slots=True)
class StagingStatistics:
    """A snapshot: frames and bytes ready, frames on their way, requests with a claim."""

    frames: int
    size_bytes: int
    on_their_way: int
    requests: int


@dataclass(slots=True)
class _Claim:
    since_us: int
    refs: frozenset[FrameRef] = frozenset()
    refused: Refusal | None = None


class Staging(Generic[ValueT]):
    """Keeps frames ready within a budget of bytes. A single request may exceed it while nobody else needs room."""

    def __init__(self, *, capacity_bytes: int, limit_us: int) -> None:
        """Args:
        limit_us: Longest time a request may wait for its frames, its turn included.
        """
        self._capacity_bytes = capacity_bytes
        self._limit_us = limit_us
        self._ready: OrderedDict[FrameRef, Staged[ValueT]] = OrderedDict()  # least recently needed first
        self._ready_bytes = 0
        self._coming: dict[FrameRef, int] = {}  # what each will take, in bytes
        self._to_fetch: list[FrameRef] = []
        self._claims: dict[str, _Claim] = {}
        self._needed: dict[FrameRef, int] = {}  # how many requests need it

    def claim(
        self, request_id: str, wanted: Mapping[FrameRef, Wanted], *, token_bytes: int, now_us: int
    ) -> Stand | Refusal:
        """Say what a request needs now; return whether it is there, or why it never will be.

        A refusal stands until ``release``; the request then needs nothing any more.

        Args:
            wanted: All that it still needs; fewer than before lets the others go.
            token_bytes: What one token takes, so that room is kept for what is on its way.
        """
        claim = self._claims.setdefault(request_id, _Claim(now_us))
        if claim.refused is not None:
            return claim.refused
        missing = [ref for ref in wanted if ref not in self._ready and ref not in self._coming]
        if missing and not self._has_room(claim, wanted, token_bytes):
            return self._wait_or_refuse(claim, now_us)
        self._hold(claim, frozenset(wanted))
        for ref in missing:
            self._coming[ref] = wanted[ref].tokens * token_bytes
            self._to_fetch.append(ref)
        for ref, want in wanted.items():
            staged = self._ready.get(ref)
            if staged is not None and not shape_fits(want, tokens=staged.tokens, grid=staged.grid):
                return self._refuse(claim, Refusal.SHAPE)
        if all(ref in self._ready for ref in wanted):
            for ref in wanted:
                self._ready.move_to_end(ref)
            return Stand.READY
        return self._wait_or_refuse(claim, now_us)

    def take_to_fetch(self) -> Sequence[FrameRef]:
        """Return the frames to fetch now, each once; the answer comes by ``arrive``."""
        taken, self._to_fetch = self._to_fetch, []
        return taken

    def arrive(self, ref: FrameRef, found: Staged[ValueT] | Refusal) -> None:
        """Take in what was fetched. A refusal is one of every request that waits for the frame."""
        self._coming.pop(ref, None)
        if isinstance(found, Refusal):
            for claim in [c for c in self._claims.values() if ref in c.refs and ref not in self._ready]:
                self._refuse(claim, found)
            return
        old = self._ready.pop(ref, None)
        self._ready_bytes += found.size_bytes - (old.size_bytes if old else 0)
        self._ready[ref] = found
        self._shrink()

    def get(self, identifier: str) -> Staged[ValueT] | None:
        """Return a frame that is ready."""
        return self._ready.get(FrameRef(identifier))

    def release(self, request_id: str) -> None:
        """Forget a request that has ended, or needs no frames any more."""
        claim = self._claims.pop(request_id, None)
        if claim is not None:
            self._hold(claim, frozenset())
            self._shrink()

    def statistics(self) -> StagingStatistics:
        """Return what is held now."""
        return StagingStatistics(len(self._ready), self._ready_bytes, len(self._coming), len(self._claims))

    # inside

    def _wait_or_refuse(self, claim: _Claim, now_us: int) -> Stand | Refusal:
        if now_us - claim.since_us > self._limit_us:
            return self._refuse(claim, Refusal.LATE)
        return Stand.WAITING

    def _refuse(self, claim: _Claim, why: Refusal) -> Refusal:
        claim.refused = why
        self._hold(claim, frozenset())
        return why

    def _has_room(
        self,
        claim: _Claim,
        wanted: Mapping[FrameRef, Wanted],
        token_bytes: int,
    ) -> bool:
        """Return whether what is wanted fits beside what other requests need."""
        others = [r for r, n in self._needed.items() if n > (r in claim.refs) and r not in wanted]
        taken = sum(self._ready[r].size_bytes if r in self._ready else self._coming.get(r, 0) for r in others)
        taken += sum(size for ref, size in self._coming.items() if ref not in self._needed)
        whole = sum(want.tokens for want in wanted.values()) * token_bytes
        return not others or taken + whole <= self._capacity_bytes

    def _hold(self, claim: _Claim, refs: frozenset[FrameRef]) -> None:
        if refs == claim.refs:
            return
        for ref in refs - claim.refs:
            self._needed[ref] = self._needed.get(ref, 0) + 1
        for ref in claim.refs - refs:
            self._needed[ref] -= 1
            if not self._needed[ref]:
                del self._needed[ref]
        claim.refs = refs

    def _shrink(self) -> None:
        """Let go what nobody needs, least recently needed first, until the rest fits."""
        for ref in list(self._ready):
            if self._ready_bytes <= self._capacity_bytes:
                return
            if ref not in self._needed:
                self._ready_bytes -= self._ready.pop(ref).size_bytes
