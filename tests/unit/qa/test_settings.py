"""Settings of asking."""

import pytest

from qa.settings import AskSettings


def test_the_defaults_hold_together() -> None:
    settings = AskSettings()
    assert settings.default_max_tokens <= settings.max_tokens


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_text_chars": 0},
        {"default_max_tokens": 0},
        {"max_tokens": 0},
        {"history_turns": -1},
        {"history_chars": -1},
        {"first_word_limit_s": 0.0},
        {"stall_limit_s": -1.0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        AskSettings(**wrong)  # type: ignore[arg-type]  # one wrong value of several types
