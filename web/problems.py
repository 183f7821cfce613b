"""Errors as replies: RFC 9457 problem documents, one for every failure that a client can meet."""

import logging
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.responses import Response

from core.errors import ErrorKind, ServiceError
from web import rest
from web.accept import faults
from web.chat_present import error_view
from web.errors import (
    BodyTooLarge,
    InvalidRequest,
    MalformedJson,
    MethodNotAllowed,
    UnknownPath,
)
from web.present import error_text
from web.routes import OPENAI

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

_STATUS_OF_KIND: Mapping[ErrorKind, HTTPStatus] = {
    ErrorKind.INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
    ErrorKind.DENIED: HTTPStatus.FORBIDDEN,
    ErrorKind.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorKind.CONFLICT: HTTPStatus.CONFLICT,
    ErrorKind.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ErrorKind.OVERLOADED: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorKind.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorKind.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}
_STATUS_OF_CODE: Mapping[str, HTTPStatus] = {
    "malformed_json": HTTPStatus.BAD_REQUEST,
    "subprotocol_required": HTTPStatus.BAD_REQUEST,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "body_timeout": HTTPStatus.REQUEST_TIMEOUT,
}
_RETRY_AFTER_S = 1


def status_of(error: type[ServiceError] | ServiceError) -> HTTPStatus:
    """Return the HTTP status of an error, by its code where HTTP has a word of its own, else by its kind."""
    return _STATUS_OF_CODE.get(error.code, _STATUS_OF_KIND[error.kind])


def problem(error: ServiceError) -> Response:
    """Return the reply that tells a client of ``error``."""
    status = status_of(error)
    listed = error.faults if isinstance(error, InvalidRequest) else ()
    view = rest.ProblemView(
        type=f"urn:livelens:error:{error.code}",
        title=status.phrase,
        status=status.value,
        detail=error_text(error),
        code=error.code,
        retryable=error.retryable,
        errors=[rest.FaultView(field=field, message=why) for field, why in listed] or None,
    )
    return Response(
        view.model_dump_json(exclude_none=True), status.value, headers=_headers(error), media_type=MEDIA_TYPE
    )


def refusal(error: ServiceError, path: str) -> Response:
    """Return the reply that tells a client of ``error``, in the form that clients of ``path`` know."""
    if not path.startswith(f"{OPENAI}/"):
        return problem(error)
    status = status_of(error)
    if status is HTTPStatus.UNPROCESSABLE_ENTITY:
        status = HTTPStatus.BAD_REQUEST  # OpenAI's word for it
    return Response(
        error_view(error).model_dump_json(),
        status.value,
        headers=_headers(error),
        media_type="application/json",
    )


def _headers(error: ServiceError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if error.retryable:
        headers["Retry-After"] = str(_RETRY_AFTER_S)
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    return headers


def validation_error(details: list[ErrorDetails]) -> ServiceError:
    """Return what a client is told of a body or query that does not fit its form."""
    if any(detail["type"] == "json_invalid" for detail in details):
        return MalformedJson()
    # The first element of each place says "body" or "query", which the client knows.
    return InvalidRequest(faults(details, skip=1))


def install(app: FastAPI) -> None:
    """Make ``app`` answer deliberate errors with problem documents; the gate around it has the rest."""
    app.add_exception_handler(ServiceError, _on_service_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_service_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        logger.warning("request refused", extra={"code": error.code, "reason": str(error)})
    return refusal(error, request.url.path)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return refusal(validation_error(list(error.errors())), request.url.path)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    """Answer what the framework raises by itself; all but a missing file is caught earlier by the gate."""
    assert isinstance(error, HTTPException)
    match error.status_code:
        case (
            400
        ):  # its parser's word for bodies that are no JSON in other ways than usual: too deep, not UTF-8
            return refusal(MalformedJson(), request.url.path)
        case 404:
            return refusal(UnknownPath(), request.url.path)
        case 405:
            return refusal(MethodNotAllowed(("GET", "HEAD")), request.url.path)
        case 413:
            return refusal(BodyTooLarge(0), request.url.path)
        case status if status < 500:
            return refusal(InvalidRequest(), request.url.path)
        case _:
            return refusal(ServiceError(), request.url.path)
