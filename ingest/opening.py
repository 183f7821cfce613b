"""Opens a source with PyAV: options, limits, the choice of the track; foreign errors become ours here."""

import logging
import os
import socket
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol
from urllib.parse import urlsplit

import av
import av.error
from av.format import Flags as FormatFlags
from av.stream import Disposition

from core.cameras import Source, Transport
from core.ids import CameraId
from ingest.address import file_path, masked
from ingest.errors import (
    AuthFailed,
    NoVideoTrack,
    SourceError,
    SourceFailed,
    SourceLost,
    SourceNotFound,
    SourceStalled,
    SourceUnreachable,
    TlsFailed,
)
from ingest.feeds import FeedKind, Feeds
from ingest.interrupt import Interrupter
from ingest.settings import IngestSettings
from ingest.tracks import VideoTrack, best_track

_log = logging.getLogger(__name__)

# A stream description must not lead to a file, nor a playlist in a file to the network or to other files.
_RTSP_PROTOCOLS = "rtsp,rtsps,rtp,srtp,udp,tcp,tls,crypto"
_FILE_FORMATS = "mov,mp4,matroska,webm,mpegts,mpeg,avi,flv,asf,ogg,h264,hevc,obu,ivf,mjpeg,m4v,mpjpeg"

_FASTEST_RATE = 1000


@dataclass(frozen=True, slots=True)
class OpenSource:
    """An open source, read and closed by one thread.

    Attributes:
        container, stream: PyAV's objects; Any because the type checker skips PyAV.
        has_clock: False where the demuxer invents its times.
        live: It comes at its own pace; a file is paced by the reader.
        frame_us: How long one frame lasts, by the source's own word; 40 ms where it says nothing.
    """

    container: Any
    stream: Any
    codec: str
    width_px: int
    height_px: int
    frame_rate: float | None
    time_base: Fraction
    has_clock: bool
    live: bool
    frame_us: int


class Opener(Protocol):
    """Opens a source; see ``open_source``."""

    def __call__(
        self, source: Source, settings: IngestSettings, interrupter: Interrupter, *, whole: bool = False
    ) -> OpenSource: ...


def open_source(
    source: Source, settings: IngestSettings, interrupter: Interrupter, *, whole: bool = False
) -> OpenSource:
    """Open ``source`` and choose its track. Blocks up to the connect timeout.

    Args:
        whole: Ask a camera for all that it offers, not for its video alone; some send nothing otherwise.
    Raises:
        SourceError: by what went wrong; nothing stays open.
    """
    interrupter.limit(settings.connect_timeout_s)
    live = source.kind != "file"
    address = source.address() if live else _checked_file(source)
    try:
        container = _open(address, source, settings, interrupter, video_only=live and not whole)
    except SourceFailed:
        # A server with nothing but sound refuses to play when nothing was chosen: ask what else it has.
        if not live or whole or interrupter.stopped or interrupter.timed_out:
            raise
        container = _open(address, source, settings, interrupter, video_only=False)
    if interrupter.timed_out:  # FFmpeg makes do with what it has when its look at the stream is cut short
        container.close()
        raise SourceStalled("connected, but nothing comes")
    return described(container, live=live)


def opening_with(feeds: Feeds, *, camera_id: CameraId | None) -> Opener:
    """Return what opens the sources of a camera, or of somebody who only takes a look, those of ``feeds`` included."""

    def opener(
        source: Source, settings: IngestSettings, interrupter: Interrupter, *, whole: bool = False
    ) -> OpenSource:
        kind = feeds.get(source.kind)
        if kind is None:
            return open_source(source, settings, interrupter, whole=whole)
        return _open_feed(kind, source, settings, interrupter, camera_id)

    return opener


def _open_feed(
    kind: FeedKind,
    source: Source,
    settings: IngestSettings,
    interrupter: Interrupter,
    camera_id: CameraId | None,
) -> OpenSource:
    interrupter.limit(settings.connect_timeout_s)
    feed = kind.open(source, camera_id=camera_id, wait=interrupter.wait_within_limit)
    limits = (settings.connect_timeout_s, settings.read_timeout_s)
    # The format is named, as looking for it would wait for more bytes than a quiet picture has in seconds.
    options = _look_options(settings)
    with translated(source, interrupter, opening=True):
        container = av.open(feed, format=kind.container, options=options, timeout=limits)
    return described(container, live=True)


def described(container: Any, *, live: bool) -> OpenSource:
    """Choose the track of an open container. Raises NoVideoTrack, with the container closed."""
    tracks = [
        VideoTrack(
            stream.index,
            stream.codec_context.width if stream.codec_context else 0,
            stream.codec_context.height if stream.codec_context else 0,
            decodable=stream.codec_context is not None,
            attached=bool(stream.disposition & Disposition.attached_pic),
        )
        for stream in container.streams.video
    ]
    best = best_track(tracks)
    if best is None:
        kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
        container.close()
        raise NoVideoTrack(f"no video track that can be decoded; the source offers: {kinds}")
    stream = container.streams[best.index]
    context = stream.codec_context
    # One thread: frame threads hand out the first picture only after three packets.
    context.thread_type, context.thread_count = "NONE", 1
    context.copy_opaque = True
    rate = stream.average_rate or stream.guessed_rate
    if rate and rate > _FASTEST_RATE:
        rate = None  # the clock's own ticks, given where nothing was measured
    return OpenSource(
        container=container,
        stream=stream,
        codec=context.name,
        width_px=best.width_px,
        height_px=best.height_px,
        frame_rate=float(rate) if rate else None,
        time_base=stream.time_base,
        has_clock=not container.format.flags & FormatFlags.no_timestamps.value,
        live=live,
        frame_us=int(1_000_000 / rate) if rate else 40_000,
    )


@contextmanager
def translated(source: Source, interrupter: Interrupter, *, opening: bool = False) -> Iterator[None]:
    """Turn what PyAV raises in this block into a SourceError. Its texts name the address, so none is kept."""
    try:
        yield
    except (av.error.FFmpegError, OSError) as error:
        raise _as_ours(error, source, interrupter, opening=opening) from None


def _open(
    address: str, source: Source, settings: IngestSettings, interrupter: Interrupter, *, video_only: bool
) -> Any:
    limits = (settings.connect_timeout_s, settings.read_timeout_s)
    if source.kind == "file":
        options = {"protocol_whitelist": "file", "format_whitelist": _FILE_FORMATS}
        address = f"file:{address}"
    else:
        options = _rtsp_options(source, settings, video_only=video_only)
    try:
        with translated(source, interrupter, opening=True):
            return av.open(address, options=options, timeout=limits)
    except SourceUnreachable:
        # A certificate that is not trusted comes out as an input/output error, like so many things.
        if source.kind == "rtsps" and settings.tls_verify and not interrupter.stopped:
            _check_certificate(source, settings)
        raise


def _rtsp_options(source: Source, settings: IngestSettings, *, video_only: bool) -> dict[str, str]:
    options = {
        "rtsp_transport": source.transport.value,
        "protocol_whitelist": _RTSP_PROTOCOLS,
        **_look_options(settings),
    }
    if source.transport is Transport.UDP:
        options["buffer_size"] = "1048576"  # a keyframe comes as one burst of datagrams
    if video_only:
        options["allowed_media_types"] = "video"
    if source.kind == "rtsps":
        options["tls_verify"] = "1" if settings.tls_verify else "0"
        if authorities := _authorities(settings):
            options["ca_file"] = authorities
    return options


def _look_options(settings: IngestSettings) -> dict[str, str]:
    """Return how long a live stream is looked at before its first packet is handed on."""
    return {"fpsprobesize": "0", "analyzeduration": str(int(settings.analyze_s * 1_000_000))}


def _authorities(settings: IngestSettings) -> str | None:
    """Return the file of those whose certificates are trusted."""
    if settings.tls_ca_file is not None:
        return settings.tls_ca_file
    defaults = ssl.get_default_verify_paths()
    found = (defaults.cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
    return next((path for path in found if path is not None and os.path.exists(path)), None)


def _check_certificate(source: Source, settings: IngestSettings) -> None:
    """Raise TlsFailed where the certificate is what is wrong."""
    parts = urlsplit(source.url)
    trust = ssl.create_default_context(cafile=_authorities(settings))
    try:
        with (
            socket.create_connection((parts.hostname or "", parts.port or 322), timeout=1.0) as link,
            trust.wrap_socket(link, server_hostname=parts.hostname),
        ):
            return
    except ssl.SSLCertVerificationError as error:
        raise TlsFailed(f"the certificate is not trusted: {error.verify_message}") from None
    except OSError:
        return


def _checked_file(source: Source) -> str:
    path = file_path(source)
    try:
        found = os.stat(path)
    except OSError:
        raise SourceNotFound("no such file, or not readable") from None
    if not stat.S_ISREG(found.st_mode):
        raise SourceNotFound("not a regular file")  # a pipe would block in open(), where nothing can end it
    return path


def _as_ours(error: Exception, source: Source, interrupter: Interrupter, *, opening: bool) -> SourceError:
    text = getattr(error, "strerror", None) or type(error).__name__
    _log.debug("source error", extra={"source": masked(source), "error": type(error).__name__, "text": text})
    if interrupter.timed_out:
        return _timed_out(source, opening=opening)
    match error:
        case av.error.HTTPUnauthorizedError() | av.error.HTTPForbiddenError():
            return AuthFailed("the camera refuses name and password")
        case av.error.HTTPNotFoundError() | FileNotFoundError():
            return SourceNotFound("there is no such stream" if source.kind != "file" else "no such file")
        case av.error.ExitError() | TimeoutError():
            return _timed_out(source, opening=opening)
        case av.error.HTTPClientError() if opening:
            return SourceFailed(text)
        case ConnectionRefusedError():
            return SourceUnreachable("connection refused")
    if source.kind == "file":
        return SourceFailed(f"not a video that can be read: {text}")
    return SourceUnreachable(text) if opening else SourceLost(text)


def _timed_out(source: Source, *, opening: bool) -> SourceError:
    if not opening or _listens(source):
        return SourceStalled("connected, but nothing comes")
    return SourceUnreachable("no answer")


def _listens(source: Source) -> bool:
    """Tell a silent camera from an absent one: does anybody take a connection there?"""
    parts = urlsplit(source.url)
    if source.kind == "file" or parts.hostname is None:
        return False
    try:
        with socket.create_connection((parts.hostname, parts.port or 554), timeout=0.5):
            return True
    except OSError:
        return False
