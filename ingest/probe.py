"""One look at a source: can it be read, what does it send, what does it look like."""

import asyncio
import logging
import threading
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import av
import av.error

from core.cameras import ProbeReport, Source
from ingest.address import check_source
from ingest.errors import SourceError, SourceFailed, SourceLost, SourceUndecodable
from ingest.feeds import NO_FEEDS, Feeds
from ingest.interrupt import Interrupter
from ingest.opening import Opener, opening_with, translated
from ingest.settings import IngestSettings

_log = logging.getLogger(__name__)
_RATE_PACKETS = 10


async def probe(source: Source, *, settings: IngestSettings, feeds: Feeds = NO_FEEDS) -> ProbeReport:
    """Return what one look at ``source`` found, with its first picture.

    Takes at most the connect and the read timeout together. Cancelling it ends its thread as well.

    Raises:
        SourceRefused: livelens does not read from such an address.
    """
    check_source(source, feeds)
    opener = opening_with(feeds, camera_id=None)
    interrupter = Interrupter()
    loop = asyncio.get_running_loop()
    done: asyncio.Future[ProbeReport] = loop.create_future()

    def look() -> None:
        with interrupter.bound():
            report = _look(source, settings, interrupter, opener)
        if not loop.is_closed():
            loop.call_soon_threadsafe(_set, done, report)

    thread = threading.Thread(target=look, name="ingest:probe", daemon=True)
    thread.start()
    try:
        return await done
    finally:
        interrupter.stop()
        thread.join(settings.stop_timeout_s)


def _set(done: "asyncio.Future[ProbeReport]", report: ProbeReport) -> None:
    if not done.done():
        done.set_result(report)


def _look(source: Source, settings: IngestSettings, interrupter: Interrupter, opener: Opener) -> ProbeReport:
    try:
        opened = opener(source, settings, interrupter)
        try:
            interrupter.limit(settings.read_timeout_s)
            packets = opened.container.demux(opened.stream)
            with translated(source, interrupter):
                frame = _first_frame(packets, settings)
                rate = opened.frame_rate or _measured_rate(packets)
            return ProbeReport(
                ok=True,
                codec=opened.codec,
                width_px=frame.width,
                height_px=frame.height,
                frame_rate=rate,
                jpeg=_jpeg(frame),
            )
        finally:
            opened.container.close()
    except SourceError as error:
        return ProbeReport(ok=False, code=error.code, message=error.detail)
    except Exception:  # noqa: BLE001 - the edge of this request: logged with its traceback, told as a failure
        _log.exception("probe failed")
        failure = SourceFailed("an unexpected error; the log has its cause")
        return ProbeReport(ok=False, code=failure.code, message=failure.detail)


def _first_frame(packets: Iterator[Any], settings: IngestSettings) -> Any:
    """Return the first whole picture. Raises SourceError."""
    undecodable, key = 0, False
    for packet in packets:
        key = key or packet.is_keyframe
        if not key:
            continue
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            undecodable += 1
            if undecodable >= settings.undecodable_packets:
                raise SourceUndecodable("no packet could be decoded") from None
            continue
        for frame in frames:
            if not frame.is_corrupt:
                return frame
    raise SourceLost("it ended before its first picture")


def _measured_rate(packets: Iterator[Any]) -> float | None:
    """Return frames per second by the times of the next few packets, where the source does not say."""
    times = [
        packet.pts * packet.time_base for packet in islice(packets, _RATE_PACKETS) if packet.pts is not None
    ]
    span = max(times) - min(times) if times else 0
    return float((len(times) - 1) / span) if span else None


def _jpeg(frame: Any) -> bytes:
    """Return the picture as JPEG, at its own size."""
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height = frame.width, frame.height
    encoder.pix_fmt, encoder.time_base = "yuvj420p", Fraction(1, 25)
    encoder.thread_count = 1
    encoder.options = {"qmin": "3", "qmax": "3"}
    picture = frame.reformat(format="yuvj420p", dst_color_range="JPEG", threads=1)
    picture.pts = 0
    return b"".join(bytes(packet) for packet in [*encoder.encode(picture), *encoder.encode(None)])
