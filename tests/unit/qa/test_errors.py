"""Questions that cannot be answered at all."""

import pytest

from core.errors import ErrorKind, ServiceError
from qa import errors


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (errors.EmptyQuestion(), "empty_question", "no words"),
        (errors.QuestionTooLong(5_000, 4_000), "question_too_long", "5000 characters, at most 4000"),
        (errors.SeveralCameras(2), "several_cameras", "one camera, 2 were named"),
        (errors.CameraRequired(0), "camera_required", "no camera is registered"),
        (errors.CameraRequired(3), "camera_required", "3 cameras"),
        (errors.AskedAtInFuture(7_500_000), "asked_at_in_future", "7.5 s ahead"),
        (errors.InvalidWindow("it is odd"), "invalid_window", "it is odd"),
    ],
)
def test_each_has_a_code_for_programs_and_a_sentence_for_people(
    error: ServiceError, code: str, words: str
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, ErrorKind.INVALID, False)
    assert words in str(error)
