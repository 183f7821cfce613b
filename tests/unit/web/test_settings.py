import pytest

from web.settings import WebSettings


def test_the_defaults_hold_together() -> None:
    settings = WebSettings()
    assert settings.answer_grace_s < 2.0
    assert settings.refused_message_bytes > settings.max_message_bytes


@pytest.mark.parametrize(
    ("name", "value"), [("max_body_bytes", 0), ("stall_timeout_s", -1.0), ("max_viewers", 0)]
)
def test_a_limit_of_nothing_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        WebSettings(**{name: value})  # type: ignore[arg-type]


def test_the_refused_size_may_not_lie_below_the_allowed_one() -> None:
    with pytest.raises(ValueError, match="refused_message_bytes"):
        WebSettings(max_message_bytes=10, refused_message_bytes=9)
