"""The command's words: sizes and mistakes."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.errors import ServiceError
from livelens.cli import app
from livelens.cli_plan import parse_resolution, parse_size
from livelens.errors import WrongArgument
from tests.support.model_configs import CONFIGS, QWEN3_VL_2B

run = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "config.json").write_text(json.dumps(QWEN3_VL_2B))
    return str(tmp_path)


def test_a_plan_is_printed_for_people(folder: str) -> None:
    result = run.invoke(app, ["plan", "--model", folder, "--cameras", "10", "--gpu-memory", "24GiB"])
    assert result.exit_code == 0
    assert "112 KiB" in result.output
    assert "10 cameras, 1280x720 at 25/s" in result.output


def test_a_plan_is_printed_for_programs(folder: str) -> None:
    result = run.invoke(app, ["plan", "--model", folder, "--json", "--kept-fps", "2", "--context", "2048"])
    found = json.loads(result.output)
    assert found["engine"]["context_tokens"] == 2048
    assert found["engine"]["kv_question_bytes"] == 2048 * 112 * 1024
    assert found["cameras"]["kept_fps"] == 2


def test_the_built_in_model_can_be_planned_for() -> None:
    assert "Engine: builtin (qwen3_vl" in run.invoke(app, ["plan", "--model", "builtin"]).output


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("24GiB", 24 << 30), ("24 gib", 24 << 30), ("24", 24 << 30), ("80GB", 80 * 10**9), ("1.5M", 3 << 19)],
)
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text, "--gpu-memory") == size_bytes


@pytest.mark.parametrize("text", ["", "lots", "-1GB", "1XB", "1 2", "٣GB"])
def test_a_size_that_is_none_is_named_with_its_option(text: str) -> None:
    with pytest.raises(WrongArgument, match="--jpeg takes a size such as"):
        parse_size(text, "--jpeg")


def test_resolutions_are_numbers_or_names() -> None:
    assert parse_resolution("1080p") == (1920, 1080)
    assert parse_resolution("2560X1440") == (2560, 1440)
    with pytest.raises(WrongArgument, match="--resolution takes 1280x720 or 1080p"):
        parse_resolution("big")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--weights", "fp3"], "--weights takes one of fp32, fp16, bf16, fp8, int8, not 'fp3'"),
        (["--cameras", "0"], "cameras must be at least 1"),
        (["--context", "300000"], "more than the model's context of 262,144"),
        (["--gpu-share", "2"], "gpu_share must be above 0"),
        (["--jpeg", "big"], "--jpeg takes a size"),
    ],
)
def test_a_mistake_is_one_line(folder: str, words: list[str], sentence: str) -> None:
    result = run.invoke(app, ["plan", "--model", folder, *words])
    assert isinstance(result.exception, ServiceError)
    assert sentence in str(result.exception)


def test_the_worked_example_of_the_page_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "scaling.md").read_text()
    block = page.partition("```console\n$ livelens ")[2].partition("```")[0]
    command, _, shown = block.partition("\n")
    words = command.split()
    folder = tmp_path / words[words.index("--model") + 1]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS["qwen3_vl 4B"]))
    monkeypatch.chdir(tmp_path)
    assert run.invoke(app, words).output == shown
