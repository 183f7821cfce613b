"""What makes a question one that cannot be answered at all. Everything else becomes an answer with a sentence."""

from core.errors import ErrorKind, ServiceError


class EmptyQuestion(ServiceError):
    code = "empty_question"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("the question has no words")


class QuestionTooLong(ServiceError):
    code = "question_too_long"
    kind = ErrorKind.INVALID

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"the question has {length} characters, at most {limit} are read")
        self.length = length
        self.limit = limit


class SeveralCameras(ServiceError):
    code = "several_cameras"
    kind = ErrorKind.INVALID

    def __init__(self, count: int) -> None:
        super().__init__(f"a question is about one camera, {count} were named; ask once for each")
        self.count = count


class CameraRequired(ServiceError):
    code = "camera_required"
    kind = ErrorKind.INVALID

    def __init__(self, registered: int) -> None:
        have = "no camera is registered yet" if registered == 0 else f"{registered} cameras are registered"
        super().__init__(f"name the camera that the question is about; {have}")
        self.registered = registered


class AskedAtInFuture(ServiceError):
    code = "asked_at_in_future"
    kind = ErrorKind.INVALID

    def __init__(self, ahead_us: int) -> None:
        super().__init__(
            f"asked_at is {ahead_us / 1_000_000:.1f} s ahead of the service's clock, at most 5 s are accepted"
        )
        self.ahead_us = ahead_us


class InvalidWindow(ServiceError):
    code = "invalid_window"
    kind = ErrorKind.INVALID

    def __init__(self, why: str) -> None:
        super().__init__(f"the window cannot be used: {why}")
