"""The shell around one camera: readers one after another, frames out, state and records told."""

import asyncio
import logging
import random
from collections.abc import Callable

from core.cameras import Camera, StateReport
from core.channel import Channel
from core.clock import Clock
from core.frames import Frame
from core.meter import Meter, Metric
from core.records import GapReason, Record
from ingest.address import check_source
from ingest.errors import SourceError, SourceStalled
from ingest.feeds import NO_FEEDS, Feeds
from ingest.gate import EveryPacket, PacketGate
from ingest.handover import Decoded, Ended, Handover, Opened
from ingest.link import Link
from ingest.opening import Opener, opening_with
from ingest.reader import Job, Reader
from ingest.retry import Retry
from ingest.settings import IngestSettings
from ingest.streamtime import Rising

_log = logging.getLogger(__name__)


async def pump(
    camera: Camera,
    frames: Channel[Frame],
    *,
    clock: Clock,
    meter: Meter,
    settings: IngestSettings,
    floor_us: int | None,
    on_state: Callable[[StateReport], None],
    on_record: Callable[[Record], None],
    gate: PacketGate | None = None,
    floor_reason: GapReason = GapReason.SERVICE_STOPPED,
    feeds: Feeds = NO_FEEDS,
    opener: Opener | None = None,
) -> None:
    """Read ``camera`` into ``frames`` until cancelled, or to the end of a file that is not looped.

    Never raises for anything the camera does: that is a state. However it ends, the reader's thread is told to
    stop, waited for up to ``stop_timeout_s``, and ``frames`` is closed.

    Args:
        floor_us: Stream time of the camera's last stored frame; all frames come after it.
        on_state: Called on the loop, at each change of state, and for counters at most once a second.
        on_record: Called on the loop, with each gap (when it opens and when it closes) and each epoch's start.
        gate: Which packets are decoded; None for all.
        floor_reason: Why nothing was read since ``floor_us``.
        feeds: Who makes the streams of schemes that ``ingest`` does not read itself.
        opener: Opens the source in another way.
    Raises:
        SourceRefused: the camera's source is not one that livelens reads from.
    """
    try:
        check_source(camera.source, feeds)
        outlet = _Outlet(camera, frames, clock, meter, on_state, on_record)
        opener = opener or opening_with(feeds, camera_id=camera.id)
        work = _Pump(outlet, settings, gate or EveryPacket(), opener, floor_us, floor_reason)
        await work.run()
    finally:
        frames.close()


class _Outlet:
    """Where one camera's results go."""

    def __init__(
        self,
        camera: Camera,
        frames: Channel[Frame],
        clock: Clock,
        meter: Meter,
        on_state: Callable[[StateReport], None],
        on_record: Callable[[Record], None],
    ) -> None:
        self.camera = camera
        self.frames = frames
        self.clock = clock
        self.meter = meter
        self.on_state = on_state
        self.on_record = on_record

    def records(self, records: list[Record]) -> None:
        for record in records:
            self.on_record(record)


class _Pump:
    def __init__(
        self,
        outlet: _Outlet,
        settings: IngestSettings,
        gate: PacketGate,
        opener: Opener,
        floor_us: int | None,
        floor_reason: GapReason,
    ) -> None:
        self._out = outlet
        self._settings = settings
        self._gate = gate
        self._opener = opener
        self._rising = Rising(floor_us)
        self._retry = Retry(settings, chance=random.random)
        self._link = Link(now_us=outlet.clock.now_us(), floor_us=floor_us, floor_reason=floor_reason)
        self._whole = False
        self._told: StateReport | None = None
        self._told_mono_us = 0

    async def run(self) -> None:
        out, link = self._out, self._link
        out.records(link.began())
        while True:
            link.connecting()
            self._tell()
            error = await self._connection()
            now_us = out.clock.now_us()
            if error is None:
                out.records(link.ended(now_us=now_us))
                self._tell()
                return
            pause_us = self._retry.after(healthy_us=link.healthy_us(now_us), slow=error.slow)
            out.records(link.failed(error, now_us=now_us))
            self._tell()
            _log.info(
                "source failed",
                extra={
                    "camera": out.camera.id,
                    "code": error.code,
                    "cause": error.detail,
                    "pause_us": pause_us,
                },
            )
            await asyncio.sleep(pause_us / 1_000_000)
            out.meter.count(Metric.RECONNECTS)

    async def _connection(self) -> SourceError | None:
        """Read one connection to its end; return why it ended, None for the end of a file."""
        out = self._out
        handover = Handover(asyncio.get_running_loop(), capacity=self._settings.handover_frames)
        job = Job(
            camera_id=out.camera.id,
            source=out.camera.source,
            settings=self._settings,
            clock=out.clock,
            gate=self._gate,
            floor_us=self._rising.last_us,
            opener=self._opener,
            whole=self._whole,
        )
        reader = Reader(job, handover)
        reader.start()
        try:
            return await self._follow(handover)
        finally:
            reader.stop()
            await self._wait_ended(reader)

    async def _follow(self, handover: Handover) -> SourceError | None:
        packets, packet_mono_us, opened = 0, self._out.clock.mono_us(), False
        while True:
            await handover.wait(self._settings.report_every_s)
            messages, skipped = handover.take()
            self._count_skipped(skipped)
            for message in messages:
                match message:
                    case Opened():
                        opened = True
                        now_us = self._out.clock.now_us()
                        self._link.opened(message.codec, message.width_px, message.height_px, now_us=now_us)
                    case Decoded():
                        await self._send(message)
                    case Ended():
                        # Some cameras play nothing to those who ask for a part: ask for the whole in turn.
                        silent = isinstance(message.error, SourceStalled) and handover.packets == 0
                        self._whole = self._whole is not silent
                        return message.error
            now_mono_us = self._out.clock.mono_us()
            if handover.packets != packets or not opened:
                packets, packet_mono_us = handover.packets, now_mono_us
            elif now_mono_us - packet_mono_us > self._settings.read_timeout_s * 1_000_000:
                self._out.records(self._link.silent(now_us=self._out.clock.now_us()))
            self._tell()

    async def _send(self, decoded: Decoded) -> None:
        out, picture = self._out, decoded.picture
        t_us = self._rising.next(decoded.t_us)
        records = self._link.frame(
            t_us,
            decoded.clock,
            (picture.width_px, picture.height_px),
            restarted=decoded.restarted,
            now_us=out.clock.now_us(),
        )
        out.records(records)
        if records:
            self._tell()
        out.meter.count(Metric.FRAMES_IN)
        await out.frames.send(Frame(out.camera.id, t_us, self._link.epoch, picture))

    def _count_skipped(self, skipped: dict[str, int]) -> None:
        self._link.skipped(skipped)
        for reason, count in skipped.items():
            if reason == "slow_loop":
                self._out.meter.count(Metric.FRAMES_DROPPED, count, stage="ingest")
            else:
                self._out.meter.count(Metric.FRAMES_SKIPPED, count, reason=reason)

    def _tell(self) -> None:
        """Report a changed state at once, changed counters once in a while."""
        report, told = self._link.report(), self._told
        now_us = self._out.clock.mono_us()
        due = now_us - self._told_mono_us >= self._settings.report_every_s * 1_000_000
        if told is not None and _headline(report) == _headline(told) and (not due or report == told):
            return
        self._told, self._told_mono_us = report, now_us
        self._out.on_state(report)

    async def _wait_ended(self, reader: Reader) -> None:
        """Wait for the thread without holding up the loop; its blocking calls give up within milliseconds."""
        deadline_us = self._out.clock.mono_us() + int(self._settings.stop_timeout_s * 1_000_000)
        while not reader.join(0):
            if self._out.clock.mono_us() > deadline_us:
                _log.warning("reader did not stop in time", extra={"camera": self._out.camera.id})
                return
            await asyncio.sleep(0.005)


def _headline(report: StateReport) -> tuple[object, ...]:
    """What is worth telling at once."""
    return report.state, report.code, report.message, report.clock, report.width_px, report.height_px
