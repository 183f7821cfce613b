"""What can go wrong at the edges, before the rest of livelens is asked."""

from core.errors import ErrorKind, ServiceError


class InvalidRequest(ServiceError):
    """The body or query has a field that is missing, unknown or of the wrong form."""

    code = "invalid_request"
    kind = ErrorKind.INVALID

    def __init__(self, faults: tuple[tuple[str, str], ...] = ()) -> None:
        first = "; ".join(f"{field}: {why}" if field else why for field, why in faults[:3])
        super().__init__(first or "the request cannot be read")
        self.faults = faults


class MalformedJson(ServiceError):
    code = "malformed_json"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("the body is not JSON")


class UnknownPath(ServiceError):
    code = "unknown_path"
    kind = ErrorKind.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("there is nothing at this path; /docs lists what there is")


class MethodNotAllowed(ServiceError):
    code = "method_not_allowed"
    kind = ErrorKind.INVALID

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(f"this path takes {', '.join(allowed)}")
        self.allowed = allowed


class BodyTooLarge(ServiceError):
    code = "body_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"a request body may have {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


class BodyTimeout(ServiceError):
    code = "body_timeout"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("the request body did not arrive in time")


class KeysRequired(ServiceError):
    """Somebody from another machine, while no keys exist."""

    code = "keys_required"
    kind = ErrorKind.DENIED

    def __init__(self) -> None:
        super().__init__("without access keys this server answers to its own machine only")


class Forbidden(ServiceError):
    code = "forbidden"
    kind = ErrorKind.DENIED

    def __init__(self, action: str) -> None:
        super().__init__(f"not allowed: {action}")
        self.action = action


class ForeignOrigin(ServiceError):
    code = "foreign_origin"
    kind = ErrorKind.DENIED

    def __init__(self) -> None:
        super().__init__("a page of another origin may not do this")


class HostNotAllowed(ServiceError):
    code = "host_not_allowed"
    kind = ErrorKind.DENIED

    def __init__(self) -> None:
        super().__init__("the Host header names none of this server's names; see the allowed hosts setting")


class UnknownZone(ServiceError):
    code = "unknown_zone"
    kind = ErrorKind.INVALID

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no time zone {name[:64]!r}; write one such as 'Europe/Berlin'")


class UnknownFrame(ServiceError):
    code = "unknown_frame"
    kind = ErrorKind.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("no sample is held for this moment; it may have aged out")


class NoPictureYet(ServiceError):
    code = "no_picture_yet"
    kind = ErrorKind.NOT_FOUND
    retryable = True

    def __init__(self) -> None:
        super().__init__("the camera has not shown a picture yet")


class TooManyViewers(ServiceError):
    code = "too_many_viewers"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} previews are being watched; try again when one has ended")
        self.limit = limit


class TooManyQuestions(ServiceError):
    code = "too_many_questions"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} questions are being answered; try again when one is done")
        self.limit = limit


class TooManySessions(ServiceError):
    code = "too_many_sessions"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} sessions are open; try again later")
        self.limit = limit


class SubprotocolRequired(ServiceError):
    code = "subprotocol_required"
    kind = ErrorKind.INVALID

    def __init__(self, name: str) -> None:
        super().__init__(f"the WebSocket handshake must offer the subprotocol {name}")


class MalformedMessage(ServiceError):
    code = "malformed_message"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("the message is not a JSON object with a type")


class BinaryMessage(ServiceError):
    code = "binary_message"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("messages are text; this one was binary")


class UnknownMessage(ServiceError):
    code = "unknown_message"
    kind = ErrorKind.INVALID

    def __init__(self, known: tuple[str, ...]) -> None:
        super().__init__(f"the message's type is none of {', '.join(known)}")


class InvalidMessage(ServiceError):
    code = "invalid_message"
    kind = ErrorKind.INVALID


class MessageTooLarge(ServiceError):
    """The connection is closed with code 1009 after it."""

    code = "message_too_large"
    kind = ErrorKind.TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"a message may have {limit_bytes} bytes")
        self.limit_bytes = limit_bytes


class DuplicateQuestion(ServiceError):
    code = "duplicate_question"
    kind = ErrorKind.CONFLICT

    def __init__(self) -> None:
        super().__init__("a question with this id is being answered")


class UnknownQuestion(ServiceError):
    code = "unknown_question"
    kind = ErrorKind.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("no question with this id is being answered")


class SessionGone(ServiceError):
    """The session is forgotten, or what was missed is; the connection goes on with its new session."""

    code = "session_gone"
    kind = ErrorKind.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("this session can no longer be resumed; go on with the new one")


class ConnectionLost(ServiceError):
    """Told on resuming: the answer was given up because nobody came back in time."""

    code = "connection_lost"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self) -> None:
        super().__init__("the answer was given up while the connection was away; ask again")


class ServerStopping(ServiceError):
    code = "server_stopping"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self) -> None:
        super().__init__("the server is stopping")


# ---------------------------------------------------------------- still-image chat


class UnsupportedParameter(ServiceError):
    """The request asks for something of OpenAI's that is not served; ignoring it would change what the answer means."""

    code = "unsupported_parameter"
    kind = ErrorKind.INVALID

    def __init__(self, param: str) -> None:
        super().__init__("n must be 1" if param == "n" else f"{param} is not served here")
        self.param = param


class PictureUrlNotAllowed(ServiceError):
    code = "picture_url_not_allowed"
    kind = ErrorKind.INVALID

    def __init__(self) -> None:
        super().__init__("pictures are taken as data URLs (data:image/…;base64,…) only; nothing is fetched")


class InvalidPictureUrl(ServiceError):
    code = "invalid_picture_url"
    kind = ErrorKind.INVALID

    def __init__(self, why: str) -> None:
        super().__init__(f"a picture's data URL cannot be read: {why}")


class TooManyUploads(ServiceError):
    code = "too_many_uploads"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self) -> None:
        super().__init__("as many pictures are being taken in as there is memory for; try again in a moment")
