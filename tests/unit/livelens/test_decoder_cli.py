import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from livelens.cli import app
from livelens.decoder_command import Found
from livelens.decoder_profile import DecoderProfile, Device
from livelens.ports import free_port

run = CliRunner()


def found(profile: DecoderProfile) -> Found:
    return Found(Path("/v/python"), Device.CPU, Path("/p"), Path("/m"), profile.model, 4096, "0123456789ab")


@pytest.fixture(autouse=True)
def nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livelens.decoder_found.look_around", found)


def test_print_shows_command_and_environment_and_starts_nothing() -> None:
    words = ["decoder", "--role", "prefill", "--print", "--port", "9100", "--redis-url", "redis://h:1/0"]
    result = run.invoke(app, words)
    assert result.exit_code == 0
    assert "/v/python -m vllm.entrypoints.openai.api_server" in result.output
    assert "--port 9100" in result.output
    assert "NixlConnector" in result.output
    assert "LIVELENS_CONNECTOR_REDIS_URL=redis://h:1/0" in result.output


def test_the_command_line_wins_over_the_profile(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text("model = 'one'\nframes = 5\n[both]\nport = 1\n")
    result = run.invoke(app, ["decoder", "--profile", str(file), "--model", "two", "--port", "2", "--print"])
    assert "--served-model-name two" in result.output
    assert "--port 2 " in result.output
    assert '"image":5' in result.output


def test_a_wrong_profile_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text("kv_bits = 5\n")
    done = subprocess.run(
        [sys.executable, "-m", "livelens", "decoder", "--print", "--profile", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        env={k: v for k, v in os.environ.items() if not k.startswith("LIVELENS_")},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "livelens: decoder profile: kv_bits must be 8 or 16\n"


@pytest.mark.parametrize("setting", ["port", "side_channel_port"])
def test_an_address_that_is_taken_is_named_before_anything_is_started(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr("livelens.decoder_process.run_decoder", lambda *what, **_: started.append(what) or 0)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        file = tmp_path / "decoder.toml"
        ports = {"port": free_port(), "side_channel_port": free_port()} | {setting: port}
        file.write_text("[prefill]\n" + "".join(f"{name} = {value}\n" for name, value in ports.items()))
        words = ["decoder", "--role", "prefill", "--profile", str(file)]
        refused = run.invoke(app, words)
        assert str(refused.exception) == (
            f"cannot listen on 127.0.0.1:{port}: Address already in use ({setting} of prefill)"
        )
        assert started == []
    assert run.invoke(app, words).exit_code == 0
    assert len(started) == 1


def test_the_role_is_one_of_three() -> None:
    result = run.invoke(app, ["decoder", "--role", "half", "--print"])
    assert result.exit_code == 2
