"""What can go wrong with the window."""

from core.errors import ErrorKind, ServiceError
from core.ids import CameraId


class UnknownCamera(ServiceError):
    code = "unknown_camera"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, camera_id: CameraId) -> None:
        super().__init__(f"there is no camera {camera_id!r}")
        self.camera_id = camera_id


class WindowUnavailable(ServiceError):
    code = "window_unavailable"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self, camera_id: CameraId) -> None:
        about = f" for camera {camera_id!r}" if camera_id else ""
        super().__init__(f"the window did not answer{about}")
        self.camera_id = camera_id


class StaleIncarnation(ServiceError):
    code = "stale_incarnation"
    kind = ErrorKind.CONFLICT

    def __init__(self, camera_id: CameraId) -> None:
        super().__init__(
            f"camera {camera_id!r} was deleted or registered anew; this write is of its earlier life"
        )
        self.camera_id = camera_id


class FrameTooLarge(ServiceError):
    code = "frame_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, camera_id: CameraId, size_bytes: int, budget_bytes: int) -> None:
        super().__init__(
            f"one frame of camera {camera_id!r} takes {size_bytes} bytes, the whole window may take {budget_bytes}"
        )
        self.camera_id = camera_id
        self.size_bytes = size_bytes
        self.budget_bytes = budget_bytes


class PagesRefused(ServiceError):
    """Pages that cannot be allocated as the settings ask: key, value and why, in one line."""

    code = "pages_refused"
    kind = ErrorKind.INVALID

    def __init__(self, setting: str, why: str) -> None:
        super().__init__(f"window.{setting}: {why}")


class PagesLost(ServiceError):
    """The device that holds features failed; they are gone."""

    code = "pages_lost"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self, device: str) -> None:
        super().__init__(f"{device}, where features lie, did not do what it was asked")
        self.device = device
