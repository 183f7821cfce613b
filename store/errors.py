"""What can go wrong with durable state. No text ever holds a password or a row's content."""

from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, ConversationId


class CameraExists(ServiceError):
    code = "camera_exists"
    kind = ErrorKind.CONFLICT

    def __init__(self, camera_id: CameraId) -> None:
        super().__init__(f"there is already a camera {camera_id!r}")
        self.camera_id = camera_id


class CameraNotRegistered(ServiceError):
    code = "unknown_camera"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, camera_id: CameraId) -> None:
        super().__init__(f"no camera {camera_id!r} is registered")
        self.camera_id = camera_id


class UnknownConversation(ServiceError):
    code = "unknown_conversation"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, conversation: ConversationId) -> None:
        super().__init__(f"there is no conversation {conversation[:80]!r}")
        self.conversation = conversation


class StoreRefused(ServiceError):
    """The address of the database is not one that livelens can use."""

    code = "store_refused"
    kind = ErrorKind.INVALID


class StoreTooNew(ServiceError):
    code = "store_too_new"
    kind = ErrorKind.CONFLICT

    def __init__(self, place: str, revision: str) -> None:
        super().__init__(
            f"the database {place} was written by a newer livelens (schema {revision}); upgrade livelens, or "
            "name another database"
        )
        self.place = place
        self.revision = revision


class StoreDamaged(ServiceError):
    code = "store_damaged"
    kind = ErrorKind.INTERNAL

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(
            f"the database {place} is damaged or no database at all ({cause}); put a backup in its place, or move "
            "it away to begin with an empty one"
        )
        self.place = place


class StoreBusy(ServiceError):
    code = "store_busy"
    kind = ErrorKind.OVERLOADED
    retryable = True

    def __init__(self, place: str) -> None:
        super().__init__(f"the database {place} stayed locked by somebody else; nothing was stored")
        self.place = place


class StoreUnavailable(ServiceError):
    code = "store_unavailable"
    kind = ErrorKind.UNAVAILABLE
    retryable = True

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(f"the database {place} cannot be used now: {cause}")
        self.place = place
