"""From a stream's own clock to stream time. Pure: packets with arrival times in, packets with stream times out.

An epoch's first packets are held, still compressed, until it is known where on the wall clock they belong:

    undecided --timed packets keep arriving at their own pace, or 1 s--> media: t = media time + anchor
              --no time within 25 packets or 1 s--------------------> arrival: t = arrival

The anchor is the smallest difference of arrival and media time: a burst after the opening arrived late, and
only its last packets tell when "now" is. What the first second says later than the release, and what RTCP
says, moves the anchor forward at once, and back by running at most 5 % slow, so that spacing stays.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from core.records import EpochClock
from ingest.mediaclock import MediaClock, MediaTime

T = TypeVar("T")

_FIRST_US = 1_000_000
_FIRST_PACKETS = 25
_ENOUGH_TIMED = 4  # packets before the pace is judged; B frames make the first two or three look early
_HELD_AT_MOST = 512
_JUMP_US = 1_000_000
_RTCP_TRUSTED_US = 5_000_000
_RTCP_AGREES_US = 5_000
_SLOW_PERCENT = 5


@dataclass(frozen=True, slots=True)
class Arrival(Generic[T]):
    """A packet as it came in.

    Attributes:
        pts, dts: In ticks of the epoch's time base; None where the demuxer gives none.
        arrival_us: Service time when it was read.
        wall_us: The sender's wall clock of this packet by RTCP, if known.
    """

    packet: T
    pts: int | None
    dts: int | None
    arrival_us: int
    wall_us: int | None = None


@dataclass(frozen=True, slots=True)
class Stamped(Generic[T]):
    """A packet with its place in stream time.

    Attributes:
        t_us: None for a packet without a time in an epoch of times: it is decoded but not handed out.
        restarted: The stream's clock started over at this packet.
    """

    packet: T
    t_us: int | None
    restarted: bool = False


class StreamTime(Generic[T]):
    """Places the packets of one epoch. Every packet pushed comes out once, in the same order.

    Times out of here rise with the stream's own times but may be equal or step back, as B frames do;
    ``Rising`` puts that right where frames leave.
    """

    def __init__(self, time_base: Fraction, *, floor_us: int | None, has_clock: bool = True) -> None:
        """Args:
        time_base: Seconds per tick.
        floor_us: Nothing of this epoch is placed at or before this time, the last one stored.
        has_clock: False for raw demuxers, whose times are invented: arrival time from the first packet on.
        """
        self.clock: EpochClock | None = None if has_clock else EpochClock.ARRIVAL
        self._media = MediaClock(time_base)
        self._floor_us = floor_us
        self._held: list[tuple[Arrival[T], MediaTime | None]] = []
        self._anchor_us = 0
        self._target_us = 0
        self._by_rtcp = False
        self._heard_us: int | None = None
        self._newest_us: int | None = None  # the furthest time given so far
        self._last_arrival_us: int | None = None

    def push(self, arrival: Arrival[T]) -> list[Stamped[T]]:
        """Take one packet; return those whose time is settled now, oldest first, perhaps none."""
        if self.clock is EpochClock.ARRIVAL:
            return [self._by_arrival(arrival)]
        media = self._media.read(arrival.pts, arrival.dts)
        if self.clock is EpochClock.MEDIA:
            return [self._by_media(arrival, media)]
        released = []
        if media is not None and media.went_back and self._held:
            released = self.flush()
            return [*released, *self._release_or_hold(arrival, media)]
        return self._release_or_hold(arrival, media)

    def flush(self) -> list[Stamped[T]]:
        """Return whatever is still held: the connection ended, or it is time to decide."""
        if not self._held:
            return []
        held, self._held = self._held, []
        timed = [(a, m) for a, m in held if m is not None]
        if not timed:
            self.clock = EpochClock.ARRIVAL
            return [self._by_arrival(arrival) for arrival, _ in held]
        self.clock = EpochClock.MEDIA
        self._anchor(
            min(a.arrival_us - m.pts_us for a, m in timed), earliest_us=min(m.pts_us for _, m in timed)
        )
        self._last_arrival_us = held[-1][0].arrival_us
        stamped = [Stamped(a.packet, None if m is None else m.pts_us + self._anchor_us) for a, m in held]
        self._newest_us = max(s.t_us for s in stamped if s.t_us is not None)
        for arrival, media in timed:
            if arrival.wall_us is not None:  # the newest word counts; the held ones keep one spacing
                self._hear(arrival.wall_us - media.pts_us)
        return stamped

    def _release_or_hold(self, arrival: Arrival[T], media: MediaTime | None) -> list[Stamped[T]]:
        if self.clock is EpochClock.MEDIA:  # a clock that started over has just made us decide
            return [self._by_media(arrival, media)]
        if self.clock is EpochClock.ARRIVAL:
            return [self._by_arrival(arrival)]
        self._held.append((arrival, media))
        return self.flush() if self._decidable() else []

    def _decidable(self) -> bool:
        first, last = self._held[0][0], self._held[-1][0]
        if last.arrival_us - first.arrival_us >= _FIRST_US or len(self._held) >= _HELD_AT_MOST:
            return True
        timed = [(a, m) for a, m in self._held[-_FIRST_PACKETS:] if m is not None]
        if not timed:
            return len(self._held) >= _FIRST_PACKETS
        if len(timed) < _ENOUGH_TIMED:
            return False
        (before, _), (now, media) = timed[-2:]
        return 0 < media.step_us <= 2 * (now.arrival_us - before.arrival_us)

    def _by_arrival(self, arrival: Arrival[T]) -> Stamped[T]:
        floor_us = arrival.arrival_us if self._floor_us is None else self._floor_us + 1
        return Stamped(arrival.packet, max(arrival.arrival_us, floor_us))

    def _by_media(self, arrival: Arrival[T], media: MediaTime | None) -> Stamped[T]:
        if media is None:
            return Stamped(arrival.packet, None)
        restarted = self._started_over(arrival.arrival_us, media)
        if restarted:
            self._floor_us = self._newest_us
            self._anchor(arrival.arrival_us - media.pts_us, earliest_us=media.pts_us)
        else:
            self._correct(arrival, media)
        self._last_arrival_us = arrival.arrival_us
        t_us = media.pts_us + self._anchor_us
        self._newest_us = t_us if self._newest_us is None else max(self._newest_us, t_us)
        return Stamped(arrival.packet, t_us, restarted)

    def _started_over(self, arrival_us: int, media: MediaTime) -> bool:
        """A clock behind itself, or one that leapt past now without that time having passed here."""
        if media.went_back:
            return True
        waited_us = arrival_us - (self._last_arrival_us or arrival_us)
        return media.step_us - waited_us > _JUMP_US and media.pts_us + self._anchor_us > arrival_us + _JUMP_US

    def _anchor(self, anchor_us: int, *, earliest_us: int) -> None:
        if self._floor_us is not None:
            anchor_us = max(anchor_us, self._floor_us + 1 - earliest_us)
        self._anchor_us = self._target_us = anchor_us

    def _correct(self, arrival: Arrival[T], media: MediaTime) -> None:
        if arrival.wall_us is not None:
            self._hear(arrival.wall_us - media.pts_us)
        elif not self._by_rtcp:
            # Nothing is shown before it was filmed: a packet this early proves that the anchor is late.
            self._target_us = min(self._target_us, arrival.arrival_us - media.pts_us)
        back_us = min(self._anchor_us - self._target_us, media.step_us * _SLOW_PERCENT // 100)
        if back_us > 0:
            self._anchor_us -= back_us

    def _hear(self, anchor_us: int) -> None:
        """Take the sender's own wall clock, where it is near enough and two packets in a row agree on it.

        The first packet that FFmpeg marks may carry the next one's wall clock, up to 0.3 s off (measured).
        """
        heard_us, self._heard_us = self._heard_us, anchor_us
        if heard_us is None or abs(anchor_us - heard_us) > _RTCP_AGREES_US:
            return
        if abs(anchor_us - self._anchor_us) > _RTCP_TRUSTED_US:
            return
        self._by_rtcp = True
        self._target_us = anchor_us
        self._anchor_us = max(self._anchor_us, anchor_us)


class Rising:
    """Makes the times of one camera's frames rise, over all its epochs: equal or backward is previous + 1 µs."""

    def __init__(self, floor_us: int | None) -> None:
        self.last_us = floor_us

    def next(self, t_us: int) -> int:
        """Return the time under which a frame leaves."""
        if self.last_us is not None:
            t_us = max(t_us, self.last_us + 1)
        self.last_us = t_us
        return t_us
