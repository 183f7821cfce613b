"""The command's words; what it starts is tested by tests/e2e/test_up.py."""

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.errors import ServiceError
from livelens import up_road
from livelens.cli import app
from livelens.errors import PartsMissing
from livelens.up_found import Missing

run = CliRunner()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def test_the_commands_are_printed_and_nothing_is_started_or_left(tmp_path: Path) -> None:
    result = run.invoke(app, ["up", "--print", "--port", "0", "--camera", "gate=rtsp://me:secret@cam/1"])
    assert result.exit_code == 0
    assert "# redis\n" in result.output
    assert "serve --no-browser --host 127.0.0.1 --port " in result.output
    assert "secret" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_redis_that_runs_is_not_started() -> None:
    result = run.invoke(app, ["up", "--print", "--port", "0", "--redis", "redis://:secret@10.0.0.5/0"])
    assert "# redis" not in result.output
    assert "LIVELENS_REDIS__URL=..." in result.output
    assert "secret" not in result.output


def test_what_is_missing_is_told_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    lack = Missing("redis-server", "there is no such program", "install it")
    monkeypatch.setattr(up_road, "find_redis_server", lambda: lack)
    result = run.invoke(app, ["up", "--port", "0"])
    assert isinstance(result.exception, PartsMissing)
    assert str(result.exception) == "not installed: redis-server"
    assert result.output == "missing  redis-server: there is no such program; install it\n"


def test_a_taken_port_ends_the_start_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run.invoke(app, ["up", "--print", "--port", str(taken.getsockname()[1])])
    assert isinstance(result.exception, ServiceError)
    assert result.exception.code == "address_not_free"


def test_the_demos_cameras_and_own_ones_are_two_things() -> None:
    result = run.invoke(app, ["up", "--demo", "--camera", "x=scene:1"])
    assert "--demo brings its own cameras" in str(result.exception)


def test_a_wrong_address_of_redis_is_one_line() -> None:
    result = run.invoke(app, ["up", "--print", "--port", "0", "--redis", "http://x"])
    assert isinstance(result.exception, ServiceError)
    assert "url must begin with" in str(result.exception)
