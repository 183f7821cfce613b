"""Questions that cannot be answered at all."""

import pytest

from core.errors import ErrorKind, ServiceError
from qa import errors


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (errors.EmptyQuestion(), "empty_question", "no words"),
        (errors.QuestionTooLong(5_000, 4_000), "question_too_long", "5000 characters, at most 4000"),
        (errors.SeveralCameras(9, 8), "several_cameras", "at most 8 cameras, 9 were named"),
        (errors.CameraRequired(0), "camera_required", "no camera is registered"),
        (errors.CameraRequired(3), "camera_required", "3 cameras"),
        (errors.AskedAtInFuture(7_500_000), "asked_at_in_future", "7.5 s ahead"),
        (errors.InvalidWindow("it is odd"), "invalid_window", "it is odd"),
        (errors.InvalidDialogue("it has no end"), "invalid_dialogue", "no end"),
        (errors.PictureRequired("builtin"), "picture_required", "builtin speaks only about pictures"),
        (errors.PictureNotKnown("builtin", 2), "picture_not_known", "picture 2 is not of the scenes"),
        (errors.TooManyPictures(9, 8), "too_many_pictures", "9 pictures, at most 8"),
        (errors.UnknownPictureFormat(), "unknown_picture_format", "none of JPEG, PNG, WebP and GIF"),
        (errors.UnknownPictureFormat("HEIC"), "unknown_picture_format", "HEIC; JPEG, PNG"),
        (errors.PictureUnreadable("it is cut short"), "picture_unreadable", "cut short"),
    ],
)
def test_each_has_a_code_for_programs_and_a_sentence_for_people(
    error: ServiceError, code: str, words: str
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, ErrorKind.INVALID, False)
    assert words in str(error)


@pytest.mark.parametrize(
    ("error", "code", "kind", "words"),
    [
        (errors.NoChatModel(), "no_model", ErrorKind.NOT_FOUND, "--model"),
        (errors.ModelNotFound("gpt", "builtin"), "model_not_found", ErrorKind.NOT_FOUND, "'builtin'"),
        (errors.DialogueTooLong(9, 8), "dialogue_too_long", ErrorKind.TOO_LARGE, "9 characters, at most 8"),
        (
            errors.PictureTooLarge.by_pixels(9, 8),
            "picture_too_large",
            ErrorKind.TOO_LARGE,
            "9 pixels, at most 8",
        ),
        (
            errors.PictureTooLarge.by_pixels(None, 8),
            "picture_too_large",
            ErrorKind.TOO_LARGE,
            "too many pixels",
        ),
        (errors.PictureTooLarge.by_bytes(8), "picture_too_large", ErrorKind.TOO_LARGE, "8 bytes"),
    ],
)
def test_what_is_too_much_or_not_there_says_how_much_may_be_and_what_there_is(
    error: ServiceError, code: str, kind: ErrorKind, words: str
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, kind, False)
    assert words in str(error)
