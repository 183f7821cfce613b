from core.errors import ServiceError
from livelens import errors
from livelens.errors import NoService, ServiceRefused


def test_every_error_of_the_root_has_a_code_of_its_own() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, ServiceError)]
    codes = [c.code for c in classes]
    assert len(set(codes)) == len(codes)


def test_an_absent_service_is_told_with_the_way_to_start_one() -> None:
    assert "livelens demo" in str(NoService("http://127.0.0.1:8080", "refused"))


def test_a_refusal_keeps_the_code_of_the_service() -> None:
    refusal = ServiceRefused("unknown_camera", "there is no camera 'x'")
    assert (refusal.service_code, str(refusal)) == (
        "unknown_camera",
        "there is no camera 'x' (unknown_camera)",
    )
