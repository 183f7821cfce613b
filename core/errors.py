"""The root of every deliberate error.

Each package declares its own errors in its ``errors.py``. ``code`` is public and stable: clients match on
it. ``kind`` says what sort of outcome it is, so that an edge can choose a status without knowing the class.
"""

from enum import StrEnum
from typing import ClassVar


class ErrorKind(StrEnum):
    """What sort of failure an error is; an edge maps it to its own status."""

    INVALID = "invalid"  # the request itself is wrong
    DENIED = "denied"  # known who asks, not allowed
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    OVERLOADED = "overloaded"  # try again later
    UNAVAILABLE = "unavailable"  # a part we need is away
    INTERNAL = "internal"


class ServiceError(Exception):
    """Base of all errors that livelens raises on purpose. The text is for people, ``code`` for programs."""

    code: ClassVar[str] = "internal_error"
    kind: ClassVar[ErrorKind] = ErrorKind.INTERNAL
    retryable: ClassVar[bool] = False


def all_codes() -> dict[str, type[ServiceError]]:
    """Return every error class loaded so far by its code (used to check docs/errors.md)."""
    found: dict[str, type[ServiceError]] = {}
    waiting = [ServiceError]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        if "code" in vars(cls):
            found[cls.code] = cls
    return found
