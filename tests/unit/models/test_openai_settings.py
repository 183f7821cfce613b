import pytest

from models.openai_settings import OpenAISettings, RemoteLimits


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


@pytest.mark.parametrize("wrong", ["ftp://host", "host:80", "http://me:secret@host"])
def test_addresses_that_make_no_sense_are_refused_without_showing_a_password(wrong: str) -> None:
    with pytest.raises(ValueError) as error:
        OpenAISettings(wrong)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"frame_tokens": 0},
        {"window_tokens": 10},
        {"connect_timeout_us": 0},
        {"first_byte_timeout_us": 0},
        {"idle_timeout_us": 0},
        {"retry_pause_us": 0},
        {"retry_after_us": -1},
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(wrong: dict[str, int]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must .*, got {wrong[name]}"):
        RemoteLimits(**wrong)


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
