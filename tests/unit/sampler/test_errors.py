"""Named errors."""

from core.errors import ErrorKind
from sampler.errors import PictureRefused


def test_a_refused_picture_has_a_stable_code_and_says_why() -> None:
    error = PictureRefused("no pixels")
    assert (error.code, error.kind) == ("picture_refused", ErrorKind.INTERNAL)
    assert "no pixels" in str(error)
