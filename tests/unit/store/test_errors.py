import pytest

from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, ConversationId
from store.errors import (
    CameraExists,
    CameraNotRegistered,
    StoreBusy,
    StoreDamaged,
    StoreRefused,
    StoreTooNew,
    StoreUnavailable,
    UnknownConversation,
)


@pytest.mark.parametrize(
    ("error", "code", "kind", "retryable"),
    [
        (CameraExists(CameraId("gate")), "camera_exists", ErrorKind.CONFLICT, False),
        (CameraNotRegistered(CameraId("gate")), "unknown_camera", ErrorKind.NOT_FOUND, False),
        (UnknownConversation(ConversationId("c")), "unknown_conversation", ErrorKind.NOT_FOUND, False),
        (StoreRefused("no"), "store_refused", ErrorKind.INVALID, False),
        (StoreTooNew("a.db", "9"), "store_too_new", ErrorKind.CONFLICT, False),
        (StoreDamaged("a.db", "malformed"), "store_damaged", ErrorKind.INTERNAL, False),
        (StoreBusy("a.db"), "store_busy", ErrorKind.OVERLOADED, True),
        (StoreUnavailable("a.db", "full"), "store_unavailable", ErrorKind.UNAVAILABLE, True),
    ],
)
def test_errors_have_their_public_code(
    error: ServiceError, code: str, kind: ErrorKind, retryable: bool
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, kind, retryable)
    assert str(error)
