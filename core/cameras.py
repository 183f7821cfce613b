"""A registered camera, and the state it is in."""

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from core.ids import CameraId, Incarnation
from core.records import EpochClock


class Transport(StrEnum):
    """How RTP travels."""

    TCP = "tcp"
    UDP = "udp"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Name and password for a camera, as plain text; never shown, logged or sent back."""

    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Source:
    """The thing read from.

    Attributes:
        url: ``rtsp://`` or ``rtsps://`` address, ``file:`` path or ``scene:`` number, without name and password.
        transport: For RTSP only.
        loop: For files only: start again at the end, in real time, for ever.
    """

    url: str
    credentials: Credentials | None = None
    transport: Transport = Transport.TCP
    loop: bool = False

    @property
    def kind(self) -> str:
        """Return the scheme, such as ``rtsp`` or ``file``."""
        return urlsplit(self.url).scheme

    def address(self) -> str:
        """Return the address with name and password percent-encoded, for the library that connects only."""
        if self.credentials is None:
            return self.url
        parts = urlsplit(self.url)
        login = f"{quote(self.credentials.username, safe='')}:{quote(self.credentials.password, safe='')}"
        return urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc}"))


@dataclass(frozen=True, slots=True)
class Camera:
    """The lasting identity that sources, samples and questions belong to. ``zone`` is its time zone."""

    id: CameraId
    name: str
    source: Source
    zone: ZoneInfo
    incarnation: Incarnation
    created_us: int
    enabled: bool = True


class CameraState(StrEnum):
    """What a camera is doing now."""

    CONNECTING = "connecting"
    WAITING_FOR_KEYFRAME = "waiting_for_keyframe"
    ONLINE = "online"
    STALLED = "stalled"
    OFFLINE = "offline"
    AUTH_FAILED = "auth_failed"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class StateReport:
    """What ingest says of a camera's source. ``code`` and ``message`` name the last error, masked.

    ``frames_total``, ``skipped`` and ``reconnects`` count since the process began; ``last_t_us`` is the
    stream time of the newest frame, None before the first.
    """

    state: CameraState
    since_us: int
    code: str | None = None
    message: str | None = None
    clock: EpochClock | None = None
    epoch: int = 0
    reconnects: int = 0
    frames_total: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    last_t_us: int | None = None
    width_px: int = 0
    height_px: int = 0
    codec: str | None = None


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What one look at a source found. ``jpeg`` is its first picture; ``code`` and ``message`` say why not."""

    ok: bool
    codec: str | None = None
    width_px: int = 0
    height_px: int = 0
    frame_rate: float | None = None
    jpeg: bytes | None = field(default=None, repr=False)
    code: str | None = None
    message: str | None = None
