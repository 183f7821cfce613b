"""What is known of one camera's link: its state, its counters, its gaps and epochs. Pure.

began -> opened -> frame, frame ... -> failed -> opened -> frame      (each returns the records it makes)
"""

from collections import Counter
from collections.abc import Mapping

from core.cameras import CameraState, StateReport
from core.records import EpochClock, EpochStart, Gap, GapReason, Record
from ingest.errors import SourceError

_LONGEST_FRAME_US = 1_000_000


class Link:
    """Follows one camera from the start of its pump to its end.

    After a failure the state names it until frames come again: attempts to reconnect do not make it flicker.
    """

    def __init__(self, *, now_us: int, floor_us: int | None, floor_reason: GapReason) -> None:
        """Args:
        floor_us: Stream time of the last frame stored earlier; None if there is none.
        floor_reason: Why nothing was read between then and now.
        """
        self._state = CameraState.CONNECTING
        self._since_us = now_us
        self._code: str | None = None
        self._message: str | None = None
        self._clock: EpochClock | None = None
        self._epoch = 0
        self._new_epoch = False
        self._reconnects = -1
        self._frames = 0
        self._skipped: Counter[str] = Counter()
        self._last_us: int | None = None
        self._frame_us = 1
        self._size = (0, 0)
        self._codec: str | None = None
        self._began_us = now_us
        self._healthy_since_us: int | None = None
        self._gap: Gap | None = None
        if floor_us is not None:
            self._gap = Gap(floor_us + 1, None, floor_reason)

    def began(self) -> list[Record]:
        """The pump begins: with a floor, the time since then is a gap."""
        return [] if self._gap is None else [self._gap]

    def connecting(self) -> None:
        """One more attempt to open the source."""
        self._reconnects += 1

    def opened(self, codec: str, width_px: int, height_px: int, *, now_us: int) -> None:
        """The source answered."""
        self._codec, self._size = codec, (width_px, height_px)
        self._new_epoch = True
        self._clock = None
        self._enter(CameraState.WAITING_FOR_KEYFRAME, now_us)

    def frame(
        self, t_us: int, clock: EpochClock, size: tuple[int, int], *, restarted: bool, now_us: int
    ) -> list[Record]:
        """A frame leaves at stream time ``t_us``."""
        records: list[Record] = []
        if self._gap is not None:
            records.append(self._closed(t_us))
        if self._new_epoch:
            self._epoch += 1
            records.append(EpochStart(t_us, self._epoch, clock))
        elif restarted:
            records.append(EpochStart(t_us, self._epoch, clock, restarted_clock=True))
        elif self._last_us is not None and not records:
            self._frame_us = min(_LONGEST_FRAME_US, max(1, t_us - self._last_us))
        self._new_epoch = False
        self._frames += 1
        self._last_us, self._clock, self._size = t_us, clock, size
        if self._state is not CameraState.ONLINE:
            self._healthy_since_us = now_us
            self._enter(CameraState.ONLINE, now_us)
        return records

    def skipped(self, reasons: Mapping[str, int]) -> None:
        """Packets or frames were let go."""
        self._skipped.update(reasons)

    def silent(self, *, now_us: int) -> list[Record]:
        """Nothing came for the read timeout, though the connection stands."""
        return self._stopped(
            CameraState.STALLED, GapReason.STALLED, "source_stalled", "connected, but nothing comes", now_us
        )

    def failed(self, error: SourceError, *, now_us: int) -> list[Record]:
        """The connection failed, or could not be made."""
        return self._stopped(error.state, error.gap, error.code, error.detail, now_us)

    def ended(self, *, now_us: int) -> list[Record]:
        """A file came to its end."""
        return self._stopped(CameraState.OFFLINE, GapReason.ENDED, None, "the file came to its end", now_us)

    def healthy_us(self, now_us: int) -> int:
        """Return how long frames have come; 0 where they do not."""
        return 0 if self._healthy_since_us is None else now_us - self._healthy_since_us

    @property
    def state(self) -> CameraState:
        return self._state

    @property
    def epoch(self) -> int:
        return self._epoch

    def report(self) -> StateReport:
        """Return all of it as one value."""
        return StateReport(
            state=self._state,
            since_us=self._since_us,
            code=self._code,
            message=self._message,
            clock=self._clock,
            epoch=self._epoch,
            reconnects=max(0, self._reconnects),
            frames_total=self._frames,
            skipped=tuple(sorted(self._skipped.items())),
            last_t_us=self._last_us,
            width_px=self._size[0],
            height_px=self._size[1],
            codec=self._codec,
        )

    def _enter(
        self, state: CameraState, now_us: int, code: str | None = None, text: str | None = None
    ) -> None:
        if state is not self._state:
            self._since_us = now_us
        self._state, self._code, self._message = state, code, text

    def _stopped(
        self, state: CameraState, reason: GapReason, code: str | None, text: str, now_us: int
    ) -> list[Record]:
        self._healthy_since_us = None
        self._enter(state, now_us, code, text)
        records: list[Record] = []
        gap = self._gap
        if gap is not None and self._last_us is None and gap.start_us < self._began_us:
            # Before the pump began nobody looked; from then on the camera is what is missing.
            records.append(self._closed(self._began_us))
            gap = None
        if gap is None:
            start_us = self._began_us if self._last_us is None else self._last_us + self._frame_us
            gap = Gap(start_us, None, reason)
        elif gap.reason is not reason:
            gap = Gap(gap.start_us, None, reason)
        else:
            return records
        self._gap = gap
        return [*records, gap]

    def _closed(self, end_us: int) -> Gap:
        assert self._gap is not None
        closed = Gap(self._gap.start_us, max(self._gap.start_us + 1, end_us), self._gap.reason)
        self._gap = None
        return closed
