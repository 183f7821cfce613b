"""The files under deploy/: read as their tools read them, and held to what the code says. No image was built."""

import configparser
import itertools
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from livelens.cli import app
from livelens.decoder_command import router_command
from livelens.decoder_profile import DecoderProfile, Role, read_profile
from livelens.settings import load_settings
from livelens.up_parts import OwnRedis, redis_part
from tests.support.deploy_files import (
    compose_problems,
    copied,
    dockerfile_problems,
    instructions,
    interpolated,
    variables,
)

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILES = ("service", "service-gpu", "decoder")
COMPOSE = (DEPLOY / "compose.yaml").read_text()


def values() -> dict[str, str]:
    lines = (DEPLOY / "compose.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))  # type: ignore[misc]


@pytest.fixture
def compose() -> dict[str, Any]:
    return yaml.safe_load(interpolated(COMPOSE, values()))


@pytest.fixture
def profile() -> DecoderProfile:
    return read_profile(DEPLOY / "decoder.toml")


def pairs(words: list[str]) -> dict[str, str]:
    return {word: after for word, after in itertools.pairwise(words) if word.startswith("--")}


def test_compose_takes_the_file(compose: dict[str, Any]) -> None:
    assert list(compose_problems(compose)) == []
    assert list(compose["services"]) == ["redis", "serve", "prefill", "decode", "router"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"port": 1}, "redis.port: not an attribute"),
        ({"command": ["a", 1]}, "redis.command: holds something else"),
        ({"depends_on": {"nobody": {}}}, "there is no service nobody"),
        ({"depends_on": {"serve": {"condition": "service_healthy"}}}, "is never healthy"),
        ({"volumes": ["x:/y"]}, "x is not declared"),
        ({"healthcheck": {"test": ["redis-cli"]}}, "must begin with CMD"),
        ({"image": None}, "NoneType instead of str"),
    ],
)
def test_a_mistake_in_it_would_be_found(
    compose: dict[str, Any], change: dict[str, Any], problem: str
) -> None:
    compose["services"]["redis"] |= change
    assert any(problem in found for found in compose_problems(compose))


def test_every_value_that_compose_takes_is_explained(compose: dict[str, Any]) -> None:
    assert variables(COMPOSE) - {"HF_TOKEN"} == set(values())


def test_the_service_takes_the_settings_that_compose_gives(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in compose["services"]["serve"]["environment"].items():
        monkeypatch.setenv(name, str(value))
    settings = load_settings(None, {})
    assert settings.redis.url == "unix:///run/livelens/redis.sock"
    assert settings.decoder_url == "http://127.0.0.1:8203"


def test_service_and_decoder_have_the_same_model_and_the_same_redis(
    compose: dict[str, Any], profile: DecoderProfile
) -> None:
    environment = compose["services"]["serve"]["environment"]
    assert environment["LIVELENS_MODEL"] == profile.model
    assert environment["LIVELENS_REDIS__URL"] == profile.redis.url


def test_redis_is_started_as_up_starts_it(compose: dict[str, Any]) -> None:
    budget = int(values()["LIVELENS_REDIS_BUDGET_BYTES"])
    ours = pairs(list(redis_part(OwnRedis(Path("redis-server"), Path("/run/livelens"), budget)).command))
    theirs = pairs(compose["services"]["redis"]["command"])
    bound = int(theirs.pop("--maxmemory").removesuffix("mb")) << 20
    assert bound == int(ours.pop("--maxmemory"))
    assert bound > budget
    for only_ours in ("--bind", "--dir", "--daemonize"):
        ours.pop(only_ours)
    assert theirs == ours


def test_router_and_vllm_are_started_as_up_starts_them(
    compose: dict[str, Any], profile: DecoderProfile
) -> None:
    wanted = router_command(Path("vllm-router"), profile, port=8203, prometheus_port=8204)
    router = compose["services"]["router"]
    assert tuple(router["entrypoint"] + router["command"]) == wanted
    for role in ("prefill", "decode"):
        service = compose["services"][role]
        assert service["command"][:2] == ["--role", role]
        assert f"127.0.0.1:{profile.instance(Role(role)).port}/health" in service["healthcheck"]["test"][-1]


def test_nothing_listens_on_an_outside_address(compose: dict[str, Any], profile: DecoderProfile) -> None:
    assert profile.host == "127.0.0.1"
    for name, service in compose["services"].items():
        assert service["network_mode"] == "host", name
        assert "ports" not in service
        text = str(service)
        assert "0.0.0.0" not in text
        assert set(re.findall(r"https?://([^:/'\"]+)", text)) <= {"127.0.0.1"}


def test_nothing_runs_as_root(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert service["user"] == "10001:10001"
        assert service["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_docker_takes_the_file(name: str) -> None:
    assert list(dockerfile_problems((DEPLOY / f"Dockerfile.{name}").read_text())) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("RUN x", "the first instruction is not FROM"),
        ("FROM python", "no version"),
        ("FROM some.host/python:3.11", "names a registry"),
        ("FROM python:3.11\nCOPY --from=build /a /b", "there is no stage build"),
        ("FROM python:3.11\nCMD [serve]", "is no JSON list"),
        ('FROM python:3.11\nENTRYPOINT ["x"]', "does not run as a user of its own"),
        ("FROM python:3.11\nINSTALL x", "not an instruction"),
    ],
)
def test_a_mistake_in_a_dockerfile_would_be_found(text: str, problem: str) -> None:
    assert any(problem in found for found in dockerfile_problems(text))


@pytest.mark.parametrize("name", DOCKERFILES)
def test_a_dockerfile_copies_every_package_and_what_is_there(name: str) -> None:
    sources = copied((DEPLOY / f"Dockerfile.{name}").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(packages) <= set(sources)
    kept = (DEPLOY / f"Dockerfile.{name}.dockerignore").read_text().splitlines()
    assert kept[0] == "*"
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in kept


@pytest.mark.parametrize("name", DOCKERFILES)
def test_what_an_image_starts_is_a_command_of_ours(name: str) -> None:
    found = dict(instructions((DEPLOY / f"Dockerfile.{name}").read_text()))
    words = [*yaml.safe_load(found["ENTRYPOINT"]), *yaml.safe_load(found["CMD"])]
    assert words[0] == "livelens"
    said = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"}).output
    assert all(word in said for word in words[2:] if word.startswith("--"))


def test_images_are_built_from_the_dockerfiles_that_are_there(compose: dict[str, Any]) -> None:
    built = {s["build"]["dockerfile"] for s in compose["services"].values() if "build" in s}
    assert built == {"deploy/Dockerfile.service-gpu", "deploy/Dockerfile.decoder"}
    assert all((ROOT / name).exists() for name in built)


def unit() -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # systemd tells upper from lower case
    parsed.read_string((DEPLOY / "livelens.service").read_text())
    return parsed


def test_the_unit_starts_up_with_words_that_it_takes() -> None:
    words = unit()["Service"]["ExecStart"].split()
    assert words[0].endswith("/livelens")
    said = CliRunner().invoke(app, [words[1], "--help"], env={"COLUMNS": "200"}).output
    assert words[1] == "up"
    assert all(word in said for word in words if word.startswith("--"))


def test_the_unit_leaves_the_order_of_the_end_to_up_and_gives_it_time() -> None:
    service = unit()["Service"]
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) >= 60
    assert service["RestartPreventExitStatus"] == "2"


def test_the_units_variables_are_ours_or_everybodys() -> None:
    names = {pair.partition("=")[0] for pair in unit()["Service"]["Environment"].split()}
    assert names == {"LIVELENS_DATA_DIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HF_HOME"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    text = (DEPLOY / "livelens.service").read_text()
    file = tmp_path / "livelens.service"
    file.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--generators=no", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_no_deployment_file_names_a_package_index() -> None:
    for file in DEPLOY.iterdir():
        if file.is_file():
            assert re.findall(r"https?://(?!127\.0\.0\.1|x\b)[\w.]+", file.read_text()) == [], file.name
