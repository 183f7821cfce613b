"""What one worker has published of each camera, and who gives way when it is too much. Pure."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.ids import CameraId, Incarnation
from featcache.budget import fair_level, next_to_pay
from featcache.redis_keys import LifeKeys

_EVER_US = 1 << 60
_FULL_FOR_S = 30.0


@dataclass(slots=True)
class Life:
    """A life that this worker opened: its fencing number, and the frames whose values lie in Redis."""

    incarnation: Incarnation
    keys: LifeKeys
    fence: int
    pointed_s: float
    size_bytes: int = 0
    frames: int = 0
    oldest_us: int | None = None

    def note(self, size_bytes: int, frames: int, oldest: bytes) -> None:
        """Take over what a script says of the life."""
        self.size_bytes, self.frames = size_bytes, frames
        self.oldest_us = int(oldest) if oldest else None

    def lost(self) -> None:
        """It is another's now, or Redis has forgotten it."""
        self.size_bytes, self.frames, self.oldest_us = 0, 0, None


@dataclass(frozen=True, slots=True)
class Payment:
    """Frames of one camera that must go: at least ``free_bytes``, down to ``level_bytes``, none after ``limit_us``."""

    camera_id: CameraId
    free_bytes: int
    level_bytes: int
    limit_us: int


class Ledger:
    """The lives that one worker holds, within one budget."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._lives: dict[CameraId, Life] = {}
        self._lent: deque[tuple[float, int]] = deque()
        self._full: tuple[float, int] | None = None  # until when Redis is taken to hold no more than so much

    # lives

    def open(self, camera_id: CameraId, life: Life) -> None:
        """Note a life that was opened, in place of any other of the camera."""
        self._lives[camera_id] = life

    def close(self, camera_id: CameraId) -> None:
        """Forget a camera."""
        self._lives.pop(camera_id, None)

    def get(self, camera_id: CameraId) -> Life | None:
        """Return the life that this worker opened, or None."""
        return self._lives.get(camera_id)

    def __iter__(self) -> Iterator[CameraId]:
        return iter(tuple(self._lives))

    @property
    def size_bytes(self) -> int:
        """Return the bytes of all held frames, without those lent."""
        return sum(life.size_bytes for life in self._lives.values())

    @property
    def frames(self) -> int:
        """Return how many frames are held."""
        return sum(life.frames for life in self._lives.values())

    # room

    def lend(self, size_bytes: int, *, now_s: float, until_s: float) -> bool:
        """Count bytes that lie in Redis for a while beside the window; False where a quarter of it is lent.

        A frame larger than that may be lent alone.
        """
        lent = self.lent_bytes(now_s)
        if size_bytes > self._budget_bytes or (lent and lent + size_bytes > self._budget_bytes // 4):
            return False
        self._lent.append((until_s, size_bytes))
        return True

    def lent_bytes(self, now_s: float) -> int:
        """Return the bytes lent now."""
        while self._lent and self._lent[0][0] <= now_s:
            self._lent.popleft()
        return sum(size for _, size in self._lent)

    def full(self, size_bytes: int, *, now_s: float) -> int:
        """Note that Redis had no room for ``size_bytes`` more; return the budget that holds for a while."""
        level = max(0, self.size_bytes - size_bytes)
        self._full = (now_s + _FULL_FOR_S, level)
        return level

    def room_bytes(self, now_s: float) -> int:
        """Return the bytes that may be held now: the budget without what is lent, or what Redis could take."""
        if self._full is not None and self._full[0] <= now_s:
            self._full = None
        budget = self._budget_bytes - self.lent_bytes(now_s)
        return max(0, min(budget, self._full[1]) if self._full else budget)

    def has_room(self, camera_id: CameraId, size_bytes: int, *, now_s: float) -> bool:
        """Return whether a camera may hold so many bytes more without losing its own newer ones for them."""
        life = self._lives.get(camera_id)
        if life is None:
            return False
        budget = self.room_bytes(now_s)
        if self.size_bytes + size_bytes <= budget:
            return True
        wanted = life.size_bytes + size_bytes
        others = [other.size_bytes for other in self._lives.values() if other is not life]
        return wanted <= fair_level([*others, wanted], budget)

    def next_payment(self, room_bytes: int) -> Payment | None:
        """Return who lets go of frames next so that all fit into ``room_bytes``; None where they do."""
        lives = {camera_id: life for camera_id, life in self._lives.items() if life.frames}
        excess = sum(life.size_bytes for life in lives.values()) - room_bytes
        if excess <= 0:
            return None
        level = fair_level([life.size_bytes for life in lives.values()], room_bytes)
        oldest = {c: life.oldest_us for c, life in lives.items() if life.oldest_us is not None}
        sizes = {c: life.size_bytes for c, life in lives.items()}
        payer = next_to_pay(sizes, oldest, level_bytes=level)
        if payer is None:
            return None
        rivals = [t for c, t in oldest.items() if c != payer and sizes[c] > level]
        return Payment(payer, excess, level, min(rivals, default=_EVER_US))


def joined(sizes: Sequence[int], *, at_most_bytes: int, at_most: int) -> int:
    """Return how many of the frames, from the first on, make one batch: at least one, else within both limits."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and (total > at_most_bytes or count >= at_most):
            return count
    return len(sizes)
