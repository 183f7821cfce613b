from dataclasses import replace

import pytest

from qa.chat_settings import ChatSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [("pictures", 0), ("picture_bytes", 0), ("max_tokens", -1), ("kept_bytes", -1), ("stall_limit_s", 0)],
)
def test_a_limit_that_lets_nothing_through_is_refused_by_name(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        replace(ChatSettings(), **{name: value})


def test_keeping_nothing_is_allowed() -> None:
    assert ChatSettings(kept_bytes=0).kept_bytes == 0
