"""The road of one camera: ingest, sampler, featcache, joined by bounded channels.

    pump --frames--> select --samples--> fill --> window
      \\------- records -------/            (kept in order by one writer)

Nothing of ``web`` is known here, so that a worker can run roads without a server.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from core.cameras import Camera, CameraState, StateReport
from core.channel import Channel, Overflow
from core.clock import Clock
from core.frames import Frame, Sample
from core.meter import Meter
from core.records import GapReason, Record
from featcache import StoredFrame, Window, fill
from featcache.fill import Encoder
from ingest import Feeds, IngestSettings, pump
from sampler import Sampler, SamplerSettings, select

_log = logging.getLogger(__name__)

FRAMES_WAITING = 8
SAMPLES_WAITING = 16
RECORDS_WAITING = 1024
_RATE_OVER_US = 5_000_000


@dataclass(frozen=True, slots=True)
class RoadParts:
    """What every road of a process shares."""

    window: Window
    clock: Clock
    meter: Meter
    executor: Executor
    ingest: IngestSettings
    sampler: SamplerSettings
    encoder: Encoder | None
    feeds: Feeds = field(default_factory=dict)


class _FrameChannel(Channel[Frame]):
    """A channel of frames that shows each one to the road as well, for previews."""

    def __init__(self, on_frame: Callable[[Frame], None]) -> None:
        super().__init__(FRAMES_WAITING, Overflow.DROP_OLDEST)
        self._on_frame = on_frame

    def send_nowait(self, item: Frame) -> bool:
        self._on_frame(item)
        return super().send_nowait(item)


class Road:
    """Runs one camera until cancelled, and tells how it is doing. A road can be run again after it ended."""

    def __init__(
        self,
        camera: Camera,
        parts: RoadParts,
        *,
        floor_us: int | None,
        floor_reason: GapReason = GapReason.SERVICE_STOPPED,
        first_seq: int = 0,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.camera = camera
        self._parts = parts
        self._floor_us = floor_us
        self._floor_reason = floor_reason
        self._next_seq = first_seq
        self._on_change = on_change
        self._kept: Counter[str] = Counter()
        self._rate: deque[tuple[int, int]] = deque()
        self._delay_us: int | None = None
        self._encoded = True
        self._newest: Frame | None = None
        state = CameraState.CONNECTING if camera.enabled else CameraState.DISABLED
        self._report = StateReport(state, parts.clock.now_us())

    async def run(self) -> None:
        """Carry frames until cancelled, or until a file that is not looped has ended."""
        parts = self._parts
        frames = _FrameChannel(self._seen)
        samples: Channel[Sample] = Channel(SAMPLES_WAITING, Overflow.DROP_OLDEST)
        records: Channel[Record] = Channel(RECORDS_WAITING, Overflow.DROP_OLDEST)
        await parts.window.open_camera(self.camera.id, self.camera.incarnation)
        name = self.camera.id
        async with asyncio.TaskGroup() as writer:
            writer.create_task(self._write_records(records), name=f"records:{name}")
            try:
                async with asyncio.TaskGroup() as stages:
                    stages.create_task(self._pump(frames, records), name=f"ingest:{name}")
                    stages.create_task(self._select(frames, samples, records), name=f"sampler:{name}")
                    stages.create_task(self._fill(samples), name=f"featcache:{name}")
            finally:
                records.close()

    async def _pump(self, frames: Channel[Frame], records: Channel[Record]) -> None:
        await pump(
            self.camera,
            frames,
            clock=self._parts.clock,
            meter=self._parts.meter,
            settings=self._parts.ingest,
            floor_us=self.last_t_us,
            floor_reason=self._floor_reason,
            on_state=self._state,
            on_record=self._recorder(records),
            feeds=self._parts.feeds,
        )

    async def _select(
        self, frames: Channel[Frame], samples: Channel[Sample], records: Channel[Record]
    ) -> None:
        await select(
            frames,
            samples,
            sampler=Sampler(self._parts.sampler),
            executor=self._parts.executor,
            on_record=self._recorder(records),
            meter=self._parts.meter,
        )

    async def _fill(self, samples: Channel[Sample]) -> None:
        await fill(
            samples,
            self._parts.window,
            camera_id=self.camera.id,
            incarnation=self.camera.incarnation,
            encoder=self._parts.encoder,
            clock=self._parts.clock,
            meter=self._parts.meter,
            first_seq=self._next_seq,
            on_stored=self._stored,
        )

    @staticmethod
    def _recorder(records: Channel[Record]) -> Callable[[Record], None]:
        def record(item: Record) -> None:
            if not records.send_nowait(item):
                _log.warning("a record was dropped: the window takes them too slowly")

        return record

    async def _write_records(self, records: Channel[Record]) -> None:
        async for record in records:
            await self._parts.window.put_record(self.camera.id, record, incarnation=self.camera.incarnation)

    def _state(self, report: StateReport) -> None:
        changed = report.state is not self._report.state or report.code != self._report.code
        self._report = report
        self._rate.append((self._parts.clock.mono_us(), report.frames_total))
        while len(self._rate) > 2 and self._rate[-1][0] - self._rate[0][0] > _RATE_OVER_US:
            self._rate.popleft()
        if changed:
            _log.info(
                "camera state changed",
                extra={"camera_id": self.camera.id, "state": report.state.value, "code": report.code},
            )
        self._on_change()

    def _seen(self, frame: Frame) -> None:
        self._newest = frame

    def _stored(self, frame: StoredFrame) -> None:
        self._kept[frame.reason.value] += 1
        self._next_seq = frame.seq + 1
        self._encoded = frame.features is not None
        self._delay_us = self._parts.clock.now_us() - frame.t_us

    @property
    def report(self) -> StateReport:
        """Return the last state that ingest reported."""
        return self._report

    @property
    def last_t_us(self) -> int | None:
        """Return the stream time nothing may come before, None for a camera that never gave a frame."""
        return self._report.last_t_us if self._report.last_t_us is not None else self._floor_us

    @property
    def next_seq(self) -> int:
        """Return the number that the camera's next stored frame gets."""
        return self._next_seq

    @property
    def kept(self) -> tuple[tuple[str, int], ...]:
        """Return how many frames were kept, by reason."""
        return tuple(sorted(self._kept.items()))

    @property
    def encoded(self) -> bool:
        """Return whether the newest stored frame has features; True before the first."""
        return self._encoded

    @property
    def delay_s(self) -> float | None:
        """Return how old the newest sample was when it reached the window."""
        return None if self._delay_us is None else self._delay_us / 1e6

    @property
    def frame_rate(self) -> float:
        """Return frames per second over the last few seconds; 0 while nothing comes."""
        if self._report.state is not CameraState.ONLINE or len(self._rate) < 2:
            return 0.0
        (from_us, before), (to_us, after) = self._rate[0], self._rate[-1]
        return (after - before) * 1e6 / (to_us - from_us) if to_us > from_us else 0.0

    @property
    def newest_frame(self) -> Frame | None:
        """Return the newest decoded frame, None before the first."""
        return self._newest
