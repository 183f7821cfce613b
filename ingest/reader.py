"""The thread that reads one connection: packets in, timed and decoded frames out to the event loop.

Everything that may block happens here, under limits, and ends at once when told to. One reader serves one
connection and is not started again.
"""

import contextlib
import logging
import struct
import threading
from dataclasses import dataclass
from typing import Any

import av.error

from core.cameras import Source
from core.clock import Clock
from core.ids import CameraId
from core.records import EpochClock
from ingest.errors import SourceError, SourceFailed, SourceLost, SourceStalled, SourceUndecodable
from ingest.gate import PacketGate, PacketInfo
from ingest.handover import Decoded, Ended, Handover, Opened
from ingest.interrupt import Interrupter
from ingest.opening import Opener, OpenSource, open_source, translated
from ingest.pacing import FilePace
from ingest.picture import AvPicture
from ingest.settings import IngestSettings
from ingest.streamtime import Arrival, Stamped, StreamTime

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """What one reader is told: whose source, by which rules, from which time on."""

    camera_id: CameraId
    source: Source
    settings: IngestSettings
    clock: Clock
    gate: PacketGate
    floor_us: int | None
    opener: Opener = open_source
    whole: bool = False


class Reader:
    """Reads one connection in a thread of its own, from ``start`` to its end or ``stop``."""

    def __init__(self, job: Job, handover: Handover) -> None:
        self._job = job
        self._out = handover
        self._interrupter = Interrupter()
        self._thread = threading.Thread(target=self._run, name=f"ingest:{job.camera_id}", daemon=True)
        self._need_keyframe = True
        self._undecodable = 0
        self._restarted_us: int | None = None  # the stream's clock started over here, and nobody knows yet
        self._newest_us: int | None = None
        self._began_us = self._began_mono_us = 0

    def start(self) -> None:
        """Begin. The last message handed over is ``Ended``."""
        self._thread.start()

    def stop(self) -> None:
        """Tell it to end; returns at once."""
        self._interrupter.stop()

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread's end; return whether it came."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        error: SourceError | None = None
        try:
            with self._interrupter.bound():
                self._read()
        except SourceError as failure:
            error = None if self._interrupter.stopped else failure
        except Exception:  # noqa: BLE001 - the supervisor of this stream: logged with its traceback, then reconnected
            _log.exception("reader failed", extra={"camera": self._job.camera_id})
            error = SourceFailed("an unexpected error; the log has its cause")
        self._out.put(Ended(error))

    def _read(self) -> None:
        job = self._job
        opened = job.opener(job.source, job.settings, self._interrupter, whole=job.whole)
        times: StreamTime[Any] = StreamTime(
            opened.time_base, floor_us=job.floor_us, has_clock=opened.has_clock
        )
        pace = None if opened.live else FilePace(opened.time_base, frame_us=opened.frame_us)
        self._out.put(Opened(opened.codec, opened.width_px, opened.height_px))
        self._began_us, self._began_mono_us = job.clock.now_us(), job.clock.mono_us()
        while True:
            try:
                self._read_through(opened, times, pace)
            finally:
                opened.container.close()
            if self._interrupter.stopped:
                return
            if pace is None:
                raise SourceLost("the camera ended the connection")
            if not job.source.loop:
                return
            # A new round: opened anew, as raw streams cannot be wound back.
            opened = job.opener(job.source, job.settings, self._interrupter, whole=job.whole)
            self._need_keyframe = True
            pace.next_round()

    def _read_through(self, opened: OpenSource, times: StreamTime[Any], pace: FilePace | None) -> None:
        """Read to the end of the connection, or of the file."""
        job, interrupter = self._job, self._interrupter
        packets = opened.container.demux(opened.stream)
        try:
            while not interrupter.stopped:
                interrupter.limit(job.settings.read_timeout_s)
                with translated(job.source, interrupter):
                    packet = next(packets, None)
                if packet is None or packet.size == 0:  # the end, or the empty packet that announces it
                    break
                self._out.packet()
                arrival = self._arrived(packet, pace)
                if arrival is None:
                    return
                for stamped in times.push(arrival):
                    self._decode(stamped, times)
                if interrupter.timed_out:
                    break
            if interrupter.timed_out and not interrupter.stopped:
                # FFmpeg gives out the frame it held back before, or instead of, telling of the failure.
                raise SourceStalled("connected, but nothing comes")
            for stamped in times.flush():
                self._decode(stamped, times)
            with contextlib.suppress(av.error.FFmpegError):  # nothing was ever decoded
                self._hand_over(list(opened.stream.codec_context.decode(None)), times)
        finally:
            packets.close()

    def _arrived(self, packet: Any, pace: FilePace | None) -> Arrival[Any] | None:
        """Say when the packet came; of a file, wait until it is due. None: told to stop meanwhile."""
        clock = self._job.clock
        if pace is None:
            return Arrival(packet, packet.pts, packet.dts, clock.now_us(), _sender_wall_us(packet))
        due_us = pace.due_us(packet.pts, packet.dts)
        if self._interrupter.wait((self._began_mono_us + due_us - clock.mono_us()) / 1_000_000):
            return None
        # It counts from when it was due, so that a busy machine does not disturb the spacing.
        return Arrival(packet, pace.shift(packet.pts), pace.shift(packet.dts), self._began_us + due_us)

    def _decode(self, stamped: Stamped[Any], times: StreamTime[Any]) -> None:
        packet = stamped.packet
        if stamped.restarted:
            self._restarted_us = stamped.t_us
        if self._need_keyframe and not packet.is_keyframe:
            self._out.skip("before_keyframe")
            return
        info = PacketInfo(stamped.t_us, packet.size, packet.is_keyframe, packet.is_disposable)
        if not self._job.gate.wants(info):
            self._need_keyframe = self._need_keyframe or not info.disposable
            self._out.skip("gate")
            return
        self._need_keyframe = False
        self._newest_us = stamped.t_us
        # The time alone: a packet that carried itself would never be freed, nor its decoder.
        packet.opaque = stamped.t_us
        self._hand_over(self._decoded(packet), times)

    def _decoded(self, packet: Any) -> list[Any]:
        """Decode one packet. A damaged one is data: count it, go on, until there are too many in a row."""
        try:
            frames = list(packet.decode())
        except av.error.FFmpegError as error:
            self._undecodable += 1
            self._out.skip("undecodable")
            if self._undecodable < self._job.settings.undecodable_packets:
                return []
            cause = type(error).__name__
            raise SourceUndecodable(
                f"{self._undecodable} packets in a row were undecodable: {cause}"
            ) from None
        if frames:
            self._undecodable = 0
        return frames

    def _hand_over(self, frames: list[Any], times: StreamTime[Any]) -> None:
        clock = times.clock or EpochClock.MEDIA
        for frame in frames:
            # Without a clock a frame counts from when it came out: with B frames its own packet came earlier.
            t_us: int | None = self._newest_us if clock is EpochClock.ARRIVAL else frame.opaque
            if frame.is_corrupt:
                self._out.skip("corrupt")
            elif t_us is None:
                self._out.skip("no_time")
            else:
                restarted = self._restarted_us is not None and t_us >= self._restarted_us
                self._restarted_us = None if restarted else self._restarted_us
                self._out.put(Decoded(t_us, AvPicture(frame), clock, restarted))


def _sender_wall_us(packet: Any) -> int | None:
    """Return the sender's wall clock of this packet, there once RTCP has told it.

    The container's ``start_time_realtime`` says the same, but 200 ms off where there are B frames (measured).
    """
    if not packet.has_sidedata("prft"):
        return None
    (wall_us,) = struct.unpack("<q", bytes(packet.get_sidedata("prft"))[:8])
    return int(wall_us)
