"""What the engine does next: at most one encode batch, one piece of a prefill and one decode step a round. Pure.

Live questions go before the batch lane (a lower priority number runs earlier), and a few places are always left for
them. Pictures wait a little to fill a batch, as long as nobody's frame gets old by it.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much at a time.

    Attributes:
        encode_batch: Pictures in one encode batch.
        encode_fill_us: The oldest picture waits no longer than this for others.
        answers: Answers computed at a time.
        live_places: Places among ``answers`` that only live questions (priority 0 or less) may take.
    """

    encode_batch: int = 8
    encode_fill_us: int = 20_000
    answers: int = 16
    live_places: int = 4

    def __post_init__(self) -> None:
        if self.encode_batch < 1 or self.answers < 1 or self.encode_fill_us < 0:
            raise ValueError(f"limits must be positive: {self}")
        if not 0 <= self.live_places < self.answers:
            raise ValueError(f"live_places must leave room for others: {self.live_places} of {self.answers}")


@dataclass(frozen=True, slots=True)
class Round(Generic[K]):
    """What to do now, in this order; with nothing to do, when to ask again (None: when something arrives)."""

    encode: tuple[K, ...] = ()
    prefill: K | None = None
    decode: tuple[K, ...] = ()
    wake_us: int | None = None

    @property
    def idle(self) -> bool:
        return not (self.encode or self.prefill is not None or self.decode)


@dataclass(slots=True)
class _Picture(Generic[K]):
    key: K
    grid: tuple[int, int, int]
    since_us: int


@dataclass(slots=True)
class _Question(Generic[K]):
    key: K
    priority: int
    number: int
    tokens: int

    @property
    def turn(self) -> tuple[int, int]:
        return self.priority, self.number


class Schedule(Generic[K]):
    """Knows what waits and what runs. A key names a picture or a question; the caller does the work."""

    def __init__(self, limits: Limits, *, row_tokens: int = 1 << 40) -> None:
        """``row_tokens`` is the room for attention state: rows times the longest of them."""
        self._limits = limits
        self._row_tokens = row_tokens
        self._pictures: list[_Picture[K]] = []
        self._waiting: list[_Question[K]] = []
        self._prefilling: list[_Question[K]] = []
        self._decoding: list[_Question[K]] = []
        self._asked = 0

    @property
    def running(self) -> int:
        """Return how many answers have a place."""
        return len(self._prefilling) + len(self._decoding)

    @property
    def waiting(self) -> int:
        """Return how many questions have none yet."""
        return len(self._waiting)

    @property
    def pictures(self) -> int:
        """Return how many pictures wait."""
        return len(self._pictures)

    def add_picture(self, key: K, grid: tuple[int, int, int], *, now_us: int) -> None:
        """A picture came to be encoded."""
        self._pictures.append(_Picture(key, grid, now_us))

    def add_question(self, key: K, *, priority: int, tokens: int) -> None:
        """A question came; ``tokens`` is what prompt and answer may take together."""
        self._asked += 1
        self._waiting.append(_Question(key, priority, self._asked, tokens))

    def prompt_through(self, key: K) -> None:
        """A prefill ended; the answer is decoded from now on."""
        question = next(q for q in self._prefilling if q.key == key)
        self._prefilling.remove(question)
        self._decoding.append(question)

    def remove(self, key: K) -> None:
        """Something ended, failed or was cancelled; unknown keys are none of our business."""
        for place in (self._waiting, self._prefilling, self._decoding):
            place[:] = [q for q in place if q.key != key]
        self._pictures[:] = [p for p in self._pictures if p.key != key]

    def next_round(self, now_us: int, *, pictures: int | None = None) -> Round[K]:
        """Return what to do now. Encoded pictures are taken off; questions stay until removed.

        ``pictures`` bounds the encode batch further, for machines on which a full one takes long.
        """
        encode, wake_us = self._take_pictures(now_us, pictures or self._limits.encode_batch)
        prefill = self._pick_prefill()
        decode = tuple(question.key for question in self._decoding)
        return Round(encode, prefill, decode, wake_us)

    def _take_pictures(self, now_us: int, most: int) -> tuple[tuple[K, ...], int | None]:
        """Return the pictures of the oldest one's grid once they fill a batch or have waited long enough."""
        if not self._pictures:
            return (), None
        oldest = self._pictures[0]
        most = min(most, self._limits.encode_batch)
        same = [picture for picture in self._pictures if picture.grid == oldest.grid][:most]
        due_us = oldest.since_us + self._limits.encode_fill_us
        if len(same) < most and now_us < due_us:
            return (), due_us
        taken = {picture.key for picture in same}
        self._pictures[:] = [picture for picture in self._pictures if picture.key not in taken]
        return tuple(picture.key for picture in same), None

    def _pick_prefill(self) -> K | None:
        """Return the question whose prompt is computed now, giving a place to the first that may have one."""
        head = min(self._waiting, key=lambda question: question.turn, default=None)
        # Only the head of the queue may start: smaller ones passing it by would let a large one starve.
        # A prefill under way steps aside only for a question that comes before it.
        if head and self._may_start(head) and all(head.turn < q.turn for q in self._prefilling):
            self._waiting.remove(head)
            self._prefilling.append(head)
        if not self._prefilling:
            return None
        return min(self._prefilling, key=lambda question: question.turn).key

    def _may_start(self, question: _Question[K]) -> bool:
        under_way = [*self._prefilling, *self._decoding]
        places = self._limits.answers - (self._limits.live_places if question.priority > 0 else 0)
        if len(under_way) >= places:
            return False
        longest = max((q.tokens for q in under_way), default=0)
        rows = 1 << len(under_way).bit_length()  # memory for rows grows by doubling
        room = rows * max(longest, question.tokens)
        return not under_way or room <= self._row_tokens
