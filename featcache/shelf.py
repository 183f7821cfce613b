"""One camera's part of the window in memory: frames by time, records by key. Pure; times are arguments."""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import replace

from core.frames import Features
from core.ids import FrameRef, Incarnation
from core.records import Gap, Record
from core.spans import Span
from featcache.paged_share import FarTimes
from featcache.window import FrameInfo, Head, StoredFrame, Tier


class Shelf:
    """Frames of one incarnation in order of time, one per moment, with the records beside them.

    Every frame held lies at or after ``evicted_before_us``; a frame put before it is turned away.

    Attributes:
        size_bytes: Bytes of all frames, wherever they lie.
        far: The frames whose features lie on a device.
    """

    def __init__(self, incarnation: Incarnation) -> None:
        self.incarnation = incarnation
        self.size_bytes = 0
        self.far = FarTimes()
        self._times: list[int] = []
        self._frames: list[StoredFrame] = []
        self._infos: list[FrameInfo] = []  # built once, so that reading the index is a slice
        self._published: list[int] = []  # times of the frames that lie in Redis too, sorted
        self._evicted_before_us: int | None = None
        self._next_seq = 0
        self._records: dict[str, Record] = {}
        self._by_start: list[tuple[int, str]] = []  # (start, key) of the records, sorted

    # frames

    def __len__(self) -> int:
        return len(self._times)

    @property
    def oldest_us(self) -> int | None:
        return self._times[0] if self._times else None

    @property
    def newest_us(self) -> int | None:
        return self._times[-1] if self._times else None

    @property
    def near_bytes(self) -> int:
        """Return the bytes that lie in memory."""
        return self.size_bytes - self.far.size_bytes

    def head(self) -> Head:
        """Return how far the shelf reaches."""
        return Head(
            incarnation=self.incarnation,
            oldest_us=self.oldest_us,
            newest_us=self.newest_us,
            evicted_before_us=self._evicted_before_us,
            frames=len(self._times),
            size_bytes=self.size_bytes,
            next_seq=self._next_seq,
        )

    def put(self, frame: StoredFrame) -> bool:
        """Store a frame in place of any other of its moment; return False where it came too late to be kept."""
        self._next_seq = max(self._next_seq, frame.seq + 1)
        if self._evicted_before_us is not None and frame.t_us < self._evicted_before_us:
            return False
        info = _info(frame)
        at = bisect_left(self._times, frame.t_us)
        if at < len(self._times) and self._times[at] == frame.t_us:
            self.size_bytes -= self._infos[at].size_bytes
            if self._infos[at].tier is Tier.REDIS:
                del self._published[bisect_left(self._published, frame.t_us)]
            self.far.discard(frame.t_us)
            self._frames[at], self._infos[at] = frame, info
        else:
            self._times.insert(at, frame.t_us)
            self._frames.insert(at, frame)
            self._infos.insert(at, info)
        self.size_bytes += info.size_bytes
        if frame.features is not None and frame.features.far is not None:
            self.far.add(frame.t_us, frame.features.far)
        return True

    def hold(self, t_us: int, features: Features) -> None:
        """Hold the features of a frame elsewhere than so far, bit for bit the same. There must be such a frame."""
        at = bisect_left(self._times, t_us)
        self._frames[at] = replace(self._frames[at], features=features)
        self.far.discard(t_us)
        if features.far is not None:
            self.far.add(t_us, features.far)
        if self._infos[at].tier is not Tier.REDIS:
            self._infos[at] = replace(self._infos[at], tier=self._own_tier(t_us))

    def drop_far(self) -> int:
        """Let the frames go whose features lie on a device, for it has lost them; return how many. No mark moves."""
        gone = set(filter(self.far.__contains__, self._times))
        left = [at for at, t_us in enumerate(self._times) if t_us not in gone]
        self._times = [self._times[at] for at in left]
        self._frames = [self._frames[at] for at in left]
        self._infos = [self._infos[at] for at in left]
        self._published = [t_us for t_us in self._published if t_us not in gone]
        self.size_bytes = sum(info.size_bytes for info in self._infos)
        self.far = FarTimes()
        return len(gone)

    def get(self, t_us: int) -> StoredFrame | None:
        """Return the frame of this moment, or None."""
        at = bisect_left(self._times, t_us)
        return self._frames[at] if at < len(self._times) and self._times[at] == t_us else None

    def find(self, ref: FrameRef, t_us: int) -> StoredFrame | None:
        """Return the frame of this moment if it goes by this ref, or None."""
        frame = self.get(t_us)
        return frame if frame is not None and frame.ref == ref else None

    def index(self, span: Span) -> tuple[FrameInfo, ...]:
        """Return the frames of one span, oldest first."""
        first, end = bisect_left(self._times, span.start_us), bisect_left(self._times, span.end_us)
        return tuple(self._infos[first:end])

    def newest(self, *, before_us: int, count: int) -> tuple[FrameInfo, ...]:
        """Return up to ``count`` frames with ``t_us < before_us``, the newest ones, oldest first."""
        end = bisect_left(self._times, before_us)
        return tuple(self._infos[max(0, end - max(0, count)) : end])

    def publish(self, times_us: Iterable[int]) -> None:
        """Note that frames lie in Redis too; the index says so from now on."""
        for t_us in times_us:
            if self._show(t_us, Tier.REDIS):
                insort(self._published, t_us)

    def spill(self, before_us: int) -> None:
        """Note that no frame with ``t_us < before_us`` lies in Redis any more."""
        count = bisect_left(self._published, before_us)
        for t_us in self._published[:count]:
            self._show(t_us, self._own_tier(t_us))
        del self._published[:count]

    def _own_tier(self, t_us: int) -> Tier:
        return Tier.GPU if t_us in self.far else Tier.MEMORY

    def _show(self, t_us: int, tier: Tier) -> bool:
        """Change the tier that the index shows; return whether there was something to change."""
        at = bisect_left(self._times, t_us)
        if at == len(self._times) or self._times[at] != t_us or self._infos[at].tier is tier:
            return False
        self._infos[at] = replace(self._infos[at], tier=tier)
        return True

    def evict_oldest(self) -> int:
        """Let the oldest frame go and move the mark behind it; return its bytes. There must be one."""
        before_bytes = self.size_bytes
        self._evict(1)
        return before_bytes - self.size_bytes

    def evict_before(self, before_us: int) -> int:
        """Let the frames with ``t_us < before_us`` go; return how many."""
        count = bisect_left(self._times, before_us)
        if count:
            self._evict(count)
        return count

    def _evict(self, count: int) -> None:
        self.size_bytes -= sum(info.size_bytes for info in self._infos[:count])
        self._evicted_before_us = self._times[count - 1] + 1
        del self._times[:count], self._frames[:count], self._infos[:count]
        del self._published[: bisect_left(self._published, self._evicted_before_us)]
        self.far.drop_before(self._evicted_before_us)

    # records

    @property
    def record_count(self) -> int:
        return len(self._records)

    def put_record(self, record: Record) -> None:
        """Store a record in place of any other with its key."""
        if record.key not in self._records:
            insort(self._by_start, (record.start_us, record.key))
        self._records[record.key] = record

    def records(self, span: Span) -> tuple[Record, ...]:
        """Return the records that touch the span, by start."""
        end = bisect_left(self._by_start, (span.end_us, ""))
        return tuple(
            record for _, key in self._by_start[:end] if reaches(record := self._records[key], span.start_us)
        )

    def drop_records_before(self, before_us: int) -> int:
        """Let the records go that ended before ``before_us``; return how many. Open gaps stay."""
        end = bisect_left(self._by_start, (before_us, ""))
        return self._forget(
            key for _, key in self._by_start[:end] if not reaches(self._records[key], before_us)
        )

    def drop_oldest_records(self, keep: int) -> int:
        """Let the oldest closed records go until ``keep`` are left; return how many went. Open gaps stay."""
        excess = len(self._records) - keep
        if excess <= 0:
            return 0
        closed = (key for _, key in self._by_start if not _is_open(self._records[key]))
        return self._forget(key for key, _ in zip(closed, range(excess), strict=False))

    def _forget(self, keys: Iterable[str]) -> int:
        gone = tuple(keys)
        for key in gone:
            record = self._records.pop(key)
            del self._by_start[bisect_left(self._by_start, (record.start_us, key))]
        return len(gone)


def reaches(record: Record, t_us: int) -> bool:
    """Return whether a record goes on after ``t_us``, or has its only moment there or later."""
    end_us = record.end_us
    return end_us is None or end_us > t_us or record.start_us == end_us == t_us


def _is_open(record: Record) -> bool:
    return isinstance(record, Gap) and record.end_us is None


def _info(frame: StoredFrame) -> FrameInfo:
    return FrameInfo(
        ref=frame.ref,
        t_us=frame.t_us,
        seq=frame.seq,
        reason=frame.reason,
        motion=frame.motion,
        tenths=frame.tenths,
        tokens=frame.features.tokens if frame.features else 0,
        size_bytes=frame.size_bytes,
        tier=Tier.MEMORY if frame.features is None or frame.features.far is None else Tier.GPU,
        grid=frame.features.grid if frame.features else None,
    )
