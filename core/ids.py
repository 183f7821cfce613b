"""Names of lasting things. Each is a string with a type of its own; bad text is refused at the edge."""

import re
import secrets
from typing import NamedTuple, NewType

from core.errors import ErrorKind, ServiceError

CameraId = NewType("CameraId", str)
FrameRef = NewType("FrameRef", str)
RequestId = NewType("RequestId", str)
ConversationId = NewType("ConversationId", str)
EventId = NewType("EventId", str)
Incarnation = NewType("Incarnation", str)
"""One life of a camera id: a camera deleted and registered again under its old id is another incarnation."""

CAMERA_ID_PATTERN = r"[a-z0-9][a-z0-9_-]{0,62}"

JPEG_ONLY = "jpeg"
"""The encoder name in the ref of a frame that was stored without features."""


class InvalidCameraId(ServiceError):
    code = "invalid_camera_id"
    kind = ErrorKind.INVALID

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text[:80]!r} is not a camera id: 1 to 63 of a-z, 0-9, '-' and '_', beginning with a letter or digit"
        )


class InvalidFrameRef(ServiceError):
    code = "invalid_frame_ref"
    kind = ErrorKind.INVALID

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:120]!r} is not a frame ref: <camera>/<t_us>/<encoder>/<detail>")


class FrameRefParts(NamedTuple):
    """What a frame ref says: whose frame, its stream time (µs), the encoder and the stored detail."""

    camera_id: CameraId
    t_us: int
    encoder: str
    detail: str


def parse_camera_id(text: str) -> CameraId:
    """Return ``text`` as a camera id. Raises InvalidCameraId."""
    if re.fullmatch(CAMERA_ID_PATTERN, text) is None:
        raise InvalidCameraId(text)
    return CameraId(text)


def make_frame_ref(
    camera_id: CameraId, t_us: int, *, encoder: str = JPEG_ONLY, detail: str = "0"
) -> FrameRef:
    """Return the id of one stored frame, the same in the window, in the decoder and in citations."""
    return FrameRef(f"{camera_id}/{t_us}/{encoder}/{detail}")


def split_frame_ref(ref: str) -> FrameRefParts:
    """Take a frame ref apart. Raises InvalidFrameRef."""
    parts = ref.split("/")
    if (
        len(parts) != 4
        or re.fullmatch(r"\d{1,17}", parts[1], re.ASCII) is None
        or not (parts[2] and parts[3])
    ):
        raise InvalidFrameRef(ref)
    try:
        camera_id = parse_camera_id(parts[0])
    except InvalidCameraId:
        raise InvalidFrameRef(ref) from None
    return FrameRefParts(camera_id, int(parts[1]), parts[2], parts[3])


class IdSource:
    """Makes new ids. One per process; tests hand over a subclass that counts."""

    def request(self) -> RequestId:
        """Return an id for one question."""
        return RequestId(f"req_{self._token()}")

    def conversation(self) -> ConversationId:
        """Return an id for one conversation."""
        return ConversationId(f"conv_{self._token()}")

    def incarnation(self) -> Incarnation:
        """Return an id for one life of a camera."""
        return Incarnation(self._token())

    def session(self) -> str:
        """Return an id for one WebSocket session."""
        return f"ses_{self._token()}"

    def _token(self) -> str:
        return secrets.token_hex(8)
