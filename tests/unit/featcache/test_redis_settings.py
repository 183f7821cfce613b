"""A wrong setting is named."""

from typing import Any

import pytest

from featcache.redis_settings import RedisSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "http://127.0.0.1"),
        ("url", "redis://127.0.0.1/0?decode_responses=true"),
        ("protocol", 4),
        ("prefix", "a{b}"),
        ("prefix", ""),
        ("redis_budget_bytes", 0),
        ("reply_timeout_us", 0),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: Any) -> None:
    """B29 too: an address that asks for text decoding is refused, not obeyed."""
    with pytest.raises(ValueError, match=name):
        RedisSettings(**{name: value})


def test_a_cluster_is_not_reached_over_a_unix_socket() -> None:
    with pytest.raises(ValueError, match="cluster"):
        RedisSettings(url="unix:///run/redis.sock", cluster=True)


def test_the_password_is_not_shown() -> None:
    assert "open sesame" not in repr(RedisSettings(password="open sesame"))
