import pytest

from core.errors import ErrorKind, ServiceError
from models.errors import (
    DecoderBusy,
    DecoderRefused,
    DecoderUnavailable,
    ModelNotLoadable,
    NoUsableFrames,
    PromptTooLarge,
)


@pytest.mark.parametrize(
    ("error", "code", "kind", "retryable"),
    [
        (ModelNotLoadable("m", "why"), "model_not_loadable", ErrorKind.INVALID, False),
        (DecoderUnavailable("why"), "decoder_unavailable", ErrorKind.UNAVAILABLE, True),
        (DecoderBusy(9), "decoder_busy", ErrorKind.OVERLOADED, True),
        (DecoderRefused(400, "why"), "decoder_refused", ErrorKind.UNAVAILABLE, False),
        (PromptTooLarge(9, 8), "prompt_too_large", ErrorKind.TOO_LARGE, False),
        (NoUsableFrames(2, "why"), "no_usable_frames", ErrorKind.UNAVAILABLE, False),
    ],
)
def test_codes_and_kinds_are_what_clients_match_on(
    error: ServiceError, code: str, kind: ErrorKind, retryable: bool
) -> None:
    assert (error.code, error.kind, error.retryable) == (code, kind, retryable)
    assert "\n" not in str(error)


def test_facts_are_attributes() -> None:
    assert (PromptTooLarge(9, 8).tokens, PromptTooLarge(9, 8).limit) == (9, 8)
    assert DecoderRefused(418, "teapot").status == 418
    assert NoUsableFrames(2, "why").frames == 2
