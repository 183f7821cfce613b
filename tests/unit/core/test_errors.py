import pytest

from core.errors import ErrorKind, ServiceError, all_codes
from core.ids import InvalidCameraId, InvalidFrameRef


def test_every_error_is_found_by_its_public_code() -> None:
    codes = all_codes()
    assert codes["internal_error"] is ServiceError
    assert codes["invalid_camera_id"] is InvalidCameraId
    assert codes["invalid_frame_ref"] is InvalidFrameRef


def test_an_error_declared_anywhere_below_is_found_too() -> None:
    class Middle(ServiceError):
        pass

    class Deep(Middle):
        code = "test_deep"

    assert all_codes()["test_deep"] is Deep
    assert Middle not in all_codes().values()


def test_an_error_is_not_worth_a_retry_unless_it_says_so() -> None:
    assert ServiceError.retryable is False
    assert ServiceError.kind is ErrorKind.INTERNAL


def test_the_text_is_for_people() -> None:
    with pytest.raises(ServiceError, match="the lamp is broken"):
        raise ServiceError("the lamp is broken")
