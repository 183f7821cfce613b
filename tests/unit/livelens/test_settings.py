from pathlib import Path

import pytest

from livelens.errors import WrongSetting
from livelens.settings import load_settings


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test starts in an empty folder without variables of ours."""
    import os

    for name in list(os.environ):
        if name.startswith("LIVELENS_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_without_anything_the_defaults_hold() -> None:
    settings = load_settings(None, {})
    assert (settings.host, settings.port, settings.model) == ("127.0.0.1", 8080, "none")


def test_the_command_line_wins_over_variables_and_these_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("livelens.toml").write_text('host = "127.0.0.3"\nport = 1\n[ingest]\nread_timeout_s = 3.0\n')
    monkeypatch.setenv("LIVELENS_PORT", "2")
    monkeypatch.setenv("LIVELENS_INGEST__READ_TIMEOUT_S", "4")
    settings = load_settings(None, {"port": 3})
    assert (settings.host, settings.port, settings.ingest.read_timeout_s) == ("127.0.0.3", 3, 4.0)


def test_a_secret_comes_from_a_file_and_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "livelens_model_key").write_text("sk-very-secret\n")
    monkeypatch.setenv("LIVELENS_SECRETS_DIR", str(tmp_path))
    settings = load_settings(None, {})
    assert settings.model_key.get_secret_value() == "sk-very-secret"
    assert "sk-very-secret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prot = 1", "prot: there is no such setting; did you mean port?"),
        ("port = 99999", "port = 99999: input should be less than or equal to 65535"),
        ("[ingest]\nread_timeout = 3", "ingest.read_timeout: there is no such setting; did you mean"),
        (
            '[ingest]\nread_timeout_s = "soon"',
            "ingest.read_timeout_s = 'soon': input should be a valid number",
        ),
        ("[ingest]\nread_timeout_s = -1", "read_timeout_s must be above 0, got -1"),
        ("[remote]\nattempts = 0", "attempts must be at least 1, got 0"),
        ('zone = "Mars/Base"', "zone = 'Mars/Base': must be 'local' or a time zone name"),
        ("port =", "is not TOML"),
    ],
)
def test_a_wrong_setting_is_one_line_naming_key_value_and_what_is_allowed(text: str, line: str) -> None:
    Path("livelens.toml").write_text(text)
    with pytest.raises(WrongSetting) as caught:
        load_settings(None, {})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelt_variable_is_named_with_what_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVELENS_PROT", "1")
    with pytest.raises(WrongSetting, match=r"LIVELENS_PROT.*did you mean LIVELENS_PORT\?"):
        load_settings(None, {})


def test_a_wrong_key_does_not_print_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("livelens.toml").write_text("model_key = 12345\n")
    with pytest.raises(WrongSetting) as caught:
        load_settings(None, {})
    assert "12345" not in str(caught.value)


def test_redis_is_off_until_it_is_named_and_its_secrets_are_never_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert load_settings(None, {}).redis.url == ""
    Path("livelens.toml").write_text('[redis]\nurl = "redis://me:hush@cache:6379/0"\n')
    (tmp_path / "livelens_redis__password").write_text("open sesame\n")
    monkeypatch.setenv("LIVELENS_SECRETS_DIR", str(tmp_path))
    settings = load_settings(None, {})
    assert settings.redis.password == "open sesame"
    assert settings.redis.shown_url == "redis://cache:6379/0"
    assert "hush" not in repr(settings)
    assert "sesame" not in repr(settings)
    for wrong in ('url = "rdis://me:hush@cache"', 'url = "redis://me:hush@cache/0"\nprotocol = 9'):
        Path("livelens.toml").write_text(f"[redis]\n{wrong}\n")
        with pytest.raises(WrongSetting) as caught:
            load_settings(None, {})
        assert "redis" in str(caught.value)
        assert "hush" not in str(caught.value)


def test_a_named_file_that_is_missing_stops_the_start() -> None:
    with pytest.raises(WrongSetting, match=r"'gone\.toml' does not exist"):
        load_settings(Path("gone.toml"), {})


@pytest.mark.parametrize(("name", "value"), [("LIVELENS_INGEST", "false"), ("LIVELENS_INGEST__ENABLED", "0")])
def test_ingest_is_turned_off_by_a_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    Path("livelens.toml").write_text("[ingest]\nread_timeout_s = 3.0\n")
    assert load_settings(None, {}).ingest.enabled
    monkeypatch.setenv(name, value)
    assert not load_settings(None, {}).ingest.enabled


def test_ingest_is_turned_off_in_the_file_and_on_the_command_line() -> None:
    assert not load_settings(None, {"ingest": {"enabled": False}}).ingest.enabled
    Path("livelens.toml").write_text("ingest = false\n")
    assert not load_settings(None, {}).ingest.enabled


@pytest.mark.parametrize("value", ["true", "no", "3"])
def test_a_variable_that_names_a_whole_section_and_is_none_ends_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("LIVELENS_INGEST", value)
    with pytest.raises(WrongSetting, match="ingest") as caught:
        load_settings(None, {})
    assert "\n" not in str(caught.value)
