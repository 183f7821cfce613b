"""What can go wrong with a source."""

import pytest

from core.errors import all_codes
from core.records import GapReason
from ingest import errors
from ingest.errors import SourceError


def kinds() -> list[type[SourceError]]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, SourceError) and kind is not SourceError
    ]


def test_every_error_has_a_code() -> None:
    codes = all_codes()
    for kind in kinds():
        assert codes[kind.code] in (kind, errors.SourceFailed, SourceError)


@pytest.mark.parametrize("kind", kinds())
def test_every_failure_says_what_it_means_for_the_camera(kind: type[SourceError]) -> None:
    error = kind("why")
    assert (error.detail, str(error)) == ("why", "why")
    assert error.gap is not GapReason.SERVICE_STOPPED
