import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from core.errors import ServiceError
from livelens import __version__
from livelens.cli import app

run = CliRunner()


def test_the_version_is_printed() -> None:
    assert run.invoke(app, ["--version"]).output == f"livelens {__version__}\n"


@pytest.mark.parametrize("command", ["demo", "serve", "ask", "cameras", "doctor"])
def test_every_command_explains_itself(command: str) -> None:
    result = run.invoke(app, [command, "--help"])
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--last", "soon"], "--last takes a length such as 30s, 5min or 1h, not 'soon'"),
        (["--last", "-3s"], "--last takes a length"),
        (["--last", "30s", "--from", "2026-01-01T00:00:00Z"], "not both"),
        (["--from", "2026-01-01T00:00:00Z"], "--from and --to go together"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused_before_anything_is_sent(
    words: list[str], sentence: str
) -> None:
    result = run.invoke(app, ["ask", "gate", "what happened?", *words])
    assert isinstance(result.exception, ServiceError)
    assert sentence in str(result.exception)


@pytest.mark.parametrize(
    ("named", "cameras"),
    [("gate", ["gate"]), ("gate,yard", ["gate", "yard"]), (" yard , gate", ["yard", "gate"])],
)
def test_a_question_may_name_several_cameras(
    named: str, cameras: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, Any]] = []

    def ask(self: object, body: dict[str, Any]) -> list[tuple[str, Any]]:
        sent.append(body)
        return [("answer.delta", {"text": "Yes."})]

    monkeypatch.setattr("livelens.client.Client.ask", ask)
    assert run.invoke(app, ["ask", named, "what happened?"]).stdout == "Yes."
    assert sent == [{"cameras": cameras, "text": "what happened?"}]


def test_a_camera_without_a_name_is_refused_before_anything_is_sent() -> None:
    result = run.invoke(app, ["ask", "gate,,yard", "what happened?"])
    assert isinstance(result.exception, ServiceError)
    assert "gate or gate,yard" in str(result.exception)


def test_a_known_error_is_one_line_and_exit_code_two() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "livelens", "ask", "gate", "what?", "--url", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("livelens: no livelens answers at http://127.0.0.1:9")
    assert done.stderr.count("\n") == 1


def test_without_ingest_and_without_redis_a_start_ends_in_one_line_that_says_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run.invoke(app, ["serve", "--no-ingest", "--no-browser", "--isolate"])
    assert isinstance(result.exception, ServiceError)
    said = str(result.exception)
    assert said.startswith("redis.url is empty: with ingest.enabled = false")
    assert "redis://" in said
    assert "\n" not in said


def test_asking_for_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from livelens.cli import app; "
        "CliRunner().invoke(app, ['--help']); "
        "print([m for m in ('torch', 'cv2', 'av', 'fastapi', 'sqlalchemy') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert shown.stdout == "[]\n"
