"""What can go wrong with a source, by name. No text here ever holds a password.

A ``SourceError`` also says what it means for the camera: the state to show, the reason of the gap, and
whether trying again soon makes sense.
"""

from typing import ClassVar

from core.cameras import CameraState
from core.errors import ErrorKind, ServiceError
from core.records import GapReason


class SourceRefused(ServiceError):
    """An address that livelens does not read from."""

    code = "source_refused"
    kind = ErrorKind.INVALID

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class AmbiguousAddress(SourceRefused):
    """An address whose host depends on how it is read, because of a raw ``@``, ``#`` or ``/`` in a password."""

    code = "ambiguous_address"

    def __init__(self) -> None:
        super().__init__(
            "the address can be read in more than one way: give name and password as fields of their own, or "
            "percent-encode them ('@' as %40, '#' as %23, '/' as %2F, '?' as %3F)"
        )


class SourceError(ServiceError):
    """A source that cannot be read now. ``detail`` is for people and free of credentials."""

    code = "source_failed"
    kind = ErrorKind.UNAVAILABLE
    retryable = True
    state: ClassVar[CameraState] = CameraState.OFFLINE
    gap: ClassVar[GapReason] = GapReason.UNREACHABLE
    slow: ClassVar[bool] = False
    """Trying again soon does harm (an account that locks) or no good."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class SourceFailed(SourceError):
    """Reading failed in a way that has no name of its own."""


class SourceUnreachable(SourceError):
    """No connection: refused, no route, no such host, or no answer at all."""

    code = "source_unreachable"


class SourceLost(SourceError):
    """The connection was there and ended."""

    code = "source_lost"


class SourceStalled(SourceError):
    """The connection stands, and nothing comes."""

    code = "source_stalled"
    state = CameraState.STALLED
    gap = GapReason.STALLED


class AuthFailed(SourceError):
    """The camera refuses name and password."""

    code = "auth_failed"
    kind = ErrorKind.DENIED
    state = CameraState.AUTH_FAILED
    gap = GapReason.AUTH_FAILED
    slow = True


class SourceNotFound(SourceError):
    """There is a server, or a disk, but not this stream or file."""

    code = "source_not_found"
    kind = ErrorKind.NOT_FOUND


class NoVideoTrack(SourceError):
    """The source has no video that can be decoded."""

    code = "no_video_track"
    gap = GapReason.NO_VIDEO
    slow = True


class TlsFailed(SourceError):
    """The certificate of an ``rtsps`` source is not trusted."""

    code = "tls_error"
    slow = True


class SourceUndecodable(SourceError):
    """Packets came, none of a stated number in a row could be decoded."""

    code = "source_undecodable"
    gap = GapReason.DAMAGED
