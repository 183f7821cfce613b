from typing import Any

import pytest

from models.openai_settings import OpenAISettings


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://host:11434", "http://host:11434/v1"),
        ("http://host:11434/", "http://host:11434/v1"),
        ("https://host/api/v3/", "https://host/api/v3"),
        ("https://host/v1/chat/completions", "https://host/v1"),
    ],
)
def test_addresses_may_be_given_as_people_know_them(given: str, base: str) -> None:
    assert OpenAISettings(given).base == base


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://host"},
        {"url": "host:80"},
        {"url": "http://me:secret@host"},
        {"attempts": 0},
        {"window_tokens": 10},
        {"idle_timeout_us": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused_without_showing_a_password(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as error:
        OpenAISettings(**{"url": "http://host"} | wrong)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:1", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://10.0.0.1", False),
        ("http://host", False),
    ],
)
def test_this_machine_s_own_addresses_are_known(url: str, loopback: bool) -> None:
    assert OpenAISettings(url).is_loopback is loopback


def test_the_key_is_not_part_of_what_is_shown() -> None:
    assert "sk-1" not in repr(OpenAISettings("http://host", api_key="sk-1"))
