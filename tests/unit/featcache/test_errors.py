import pytest

from core.errors import ErrorKind, ServiceError
from featcache.errors import FrameTooLarge, StaleIncarnation, UnknownCamera, WindowUnavailable
from tests.support.windows import GATE


@pytest.mark.parametrize(
    ("error", "code", "kind", "retryable"),
    [
        (UnknownCamera(GATE), "unknown_camera", ErrorKind.NOT_FOUND, False),
        (WindowUnavailable(GATE), "window_unavailable", ErrorKind.UNAVAILABLE, True),
        (StaleIncarnation(GATE), "stale_incarnation", ErrorKind.CONFLICT, False),
        (FrameTooLarge(GATE, 9, 5), "frame_too_large", ErrorKind.TOO_LARGE, False),
    ],
)
def test_errors_have_their_public_code_and_name_the_camera(
    error: ServiceError, code: str, kind: ErrorKind, retryable: bool
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, kind, retryable)
    assert "'gate'" in str(error)
