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

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(
            f"a question is about at most {limit} cameras, {count} were named; ask more than once"
        )
        self.count = count
        self.limit = limit


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


# ---------------------------------------------------------------- still-image chat


class NoChatModel(ServiceError):
    """Questions about cameras get measured answers then; a picture that somebody sends has nobody to look at it."""

    code = "no_model"
    kind = ErrorKind.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("no model answers here; start livelens with --model or --model-url")


class ModelNotFound(ServiceError):
    code = "model_not_found"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, asked: str, there: str) -> None:
        super().__init__(f"there is no model {asked[:120]!r}; the one that answers here is {there!r}")
        self.asked = asked


class InvalidDialogue(ServiceError):
    """Messages that are well-formed one by one and make no dialogue together."""

    code = "invalid_dialogue"
    kind = ErrorKind.INVALID


class DialogueTooLong(ServiceError):
    code = "dialogue_too_long"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"the messages have {length} characters, at most {limit} are read")
        self.length = length
        self.limit = limit


class TooManyPictures(ServiceError):
    code = "too_many_pictures"
    kind = ErrorKind.INVALID

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(f"the messages have {count} pictures, at most {limit} are looked at")
        self.count = count
        self.limit = limit


class PictureRequired(ServiceError):
    code = "picture_required"
    kind = ErrorKind.INVALID

    def __init__(self, model: str) -> None:
        super().__init__(f"{model} speaks only about pictures, and there is none in the messages")


class PictureNotKnown(ServiceError):
    """A model that knows one world only was shown a picture of another."""

    code = "picture_not_known"
    kind = ErrorKind.INVALID

    def __init__(self, model: str, number: int) -> None:
        super().__init__(
            f"picture {number} is not of the scenes that livelens generates, and {model} knows no others; "
            "start livelens with --model or --model-url for pictures of the world"
        )
        self.number = number


class PictureTooLarge(ServiceError):
    code = "picture_too_large"
    kind = ErrorKind.TOO_LARGE

    @classmethod
    def by_pixels(cls, pixels: int | None, limit: int) -> "PictureTooLarge":
        """``pixels`` None where there are too many to tell."""
        have = "too many" if pixels is None else str(pixels)
        return cls(f"a picture has {have} pixels, at most {limit} are decoded")

    @classmethod
    def by_bytes(cls, limit: int) -> "PictureTooLarge":
        return cls(f"a picture's file may have {limit} bytes")


class UnknownPictureFormat(ServiceError):
    code = "unknown_picture_format"
    kind = ErrorKind.INVALID

    def __init__(self, found: str | None = None) -> None:
        what = (
            "none of JPEG, PNG, WebP and GIF"
            if found is None
            else f"{found}; JPEG, PNG, WebP and GIF are read"
        )
        super().__init__(f"a picture is {what}")
        self.found = found


class PictureUnreadable(ServiceError):
    code = "picture_unreadable"
    kind = ErrorKind.INVALID

    def __init__(self, why: str) -> None:
        super().__init__(f"a picture cannot be read: {why}")
