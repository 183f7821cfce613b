import json
from typing import Any

import pytest
from starlette.responses import Response

from core.errors import ErrorKind, ServiceError
from core.ids import CameraId
from featcache.errors import UnknownCamera, WindowUnavailable
from web.errors import InvalidRequest, MethodNotAllowed, SubprotocolRequired
from web.problems import problem, status_of, validation_error


def told(reply: Response) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(bytes(reply.body))
    return body


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_has_a_status(kind: ErrorKind) -> None:
    error = ServiceError("x")
    error.kind = kind  # type: ignore[misc]  # a test may
    assert 400 <= status_of(error) < 600


def test_a_problem_names_its_code_and_says_why() -> None:
    reply = problem(UnknownCamera(CameraId("gate")))
    assert reply.media_type == "application/problem+json"
    assert told(reply) == {
        "type": "urn:livelens:error:unknown_camera",
        "title": "Not Found",
        "status": 404,
        "detail": "there is no camera 'gate'",
        "code": "unknown_camera",
        "retryable": False,
    }


def test_what_may_work_later_says_when() -> None:
    reply = problem(WindowUnavailable(CameraId("gate")))
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")


def test_a_fault_inside_tells_nothing_of_the_inside() -> None:
    assert "dsn=secret" not in bytes(problem(ServiceError("dsn=secret")).body).decode()


def test_faults_of_a_form_are_named_without_their_values() -> None:
    error = validation_error(
        [{"type": "string_type", "loc": ("body", "source", "password"), "msg": "Wrong", "input": "s3cret"}]
    )
    assert isinstance(error, InvalidRequest)
    reply = problem(error)
    assert told(reply)["errors"] == [{"field": "source.password", "message": "Wrong"}]
    assert "s3cret" not in bytes(reply.body).decode()


def test_http_has_words_of_its_own_for_some() -> None:
    assert problem(MethodNotAllowed(("GET", "HEAD"))).headers["allow"] == "GET, HEAD"
    assert status_of(MethodNotAllowed(())) == 405
    assert status_of(SubprotocolRequired("x")) == 400
    assert (
        status_of(validation_error([{"type": "json_invalid", "loc": ("body",), "msg": "", "input": ""}]))
        == 400
    )
