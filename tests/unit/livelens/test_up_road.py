"""From settings to parts; what vLLM needs is found by ``livelens.decoder_found`` and faked here."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from featcache.redis_settings import RedisSettings
from livelens import up_road
from livelens.decoder_command import Found
from livelens.decoder_profile import Device
from livelens.errors import DecoderNotInstalled, WrongSetting
from livelens.ports import free_port
from livelens.settings import Settings
from livelens.up_found import Missing
from livelens.up_road import Choice, decoder_profile, prepare, service_url

FOUND = Found(
    python=Path("/vllm/bin/python"),
    device=Device.CPU,
    packages=Path("/cache/vllm"),
    model=Path("/models/m"),
    name="m",
    context_tokens=4096,
    encoder="0123456789ab",
)


@pytest.fixture(autouse=True)
def everything_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_road, "find_redis_server", lambda: Path("/usr/bin/redis-server"))
    monkeypatch.setattr(up_road, "find_router", lambda: Path("/router/bin/vllm-router"))
    monkeypatch.setattr(up_road, "look_around", lambda _: FOUND)


def choice(model: str = "/models/m", **more: Any) -> Choice:
    return Choice(Settings(model=model), ("serve", "--no-browser"), **more)


def names(made: up_road.Prepared) -> list[str]:
    return [part.name for part in made.parts]


def test_with_a_model_redis_vllm_and_the_service_run(tmp_path: Path) -> None:
    made = prepare(choice(), tmp_path)
    assert names(made) == ["redis", "decoder", "serve"]
    decoder, serve = made.parts[1:]
    address = decoder.ready.url.removesuffix("/health")  # type: ignore[union-attr]  # it is an HTTP one
    assert serve.environment["LIVELENS_DECODER_URL"] == address
    told = {**decoder.environment, **decoder.secret}
    assert f"unix://{tmp_path}/redis.sock" in told.values()


def test_apart_the_service_asks_the_router_which_asks_both(tmp_path: Path) -> None:
    made = prepare(choice(split=True), tmp_path)
    assert names(made) == ["redis", "prefill", "decode", "router", "serve"]
    router = made.parts[3]
    halves = [part.ready.url.removesuffix("/health") for part in made.parts[1:3]]  # type: ignore[union-attr]
    assert all(half in router.command for half in halves)
    assert made.parts[4].environment["LIVELENS_DECODER_URL"] + "/health" == router.ready.url  # type: ignore[union-attr]


def test_without_a_model_nothing_answers_from_vllm_and_people_are_told(tmp_path: Path) -> None:
    made = prepare(choice("none"), tmp_path)
    assert names(made) == ["redis", "serve"]
    assert "LIVELENS_DECODER_URL" not in made.parts[1].environment
    assert made.notes == ("no model is named, so answers are measured; name one with --model",)


def test_a_model_elsewhere_needs_no_vllm(tmp_path: Path) -> None:
    settings = Settings(model="none", model_url="http://127.0.0.1:11434")
    made = prepare(Choice(settings, ("serve",)), tmp_path)
    assert (names(made), made.notes) == (["redis", "serve"], ())


def test_a_decoder_and_a_redis_that_run_are_used(tmp_path: Path) -> None:
    settings = Settings(model="/models/m", redis=RedisSettings(url="redis://10.0.0.5:6379/0"))
    made = prepare(Choice(settings, ("serve",), decoder_url="http://10.0.0.6:8000"), tmp_path)
    assert names(made) == ["serve"]
    assert made.parts[0].environment["LIVELENS_DECODER_URL"] == "http://10.0.0.6:8000"
    assert "LIVELENS_REDIS__URL" not in made.parts[0].environment_from({})


def test_a_redis_named_on_the_command_line_is_told_to_the_service(tmp_path: Path) -> None:
    settings = Settings(model="none", redis=RedisSettings(url="redis://:secret@10.0.0.5:6379/0"))
    made = prepare(Choice(settings, ("serve",), named_redis=True), tmp_path)
    assert made.parts[0].secret == {"LIVELENS_REDIS__URL": "redis://:secret@10.0.0.5:6379/0"}


def test_everything_that_is_missing_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: object) -> Found:
        raise DecoderNotInstalled("this Python has no vLLM")

    monkeypatch.setattr(up_road, "find_redis_server", lambda: Missing("redis-server", "none", "install it"))
    monkeypatch.setattr(up_road, "find_router", lambda: Missing("vllm-router", "none", "install it"))
    monkeypatch.setattr(up_road, "look_around", nothing)
    made = prepare(choice(split=True), tmp_path)
    assert made.parts == ()
    assert [lack.name for lack in made.missing] == ["redis-server", "vllm-router", "vLLM"]
    assert made.missing[2].why == "this Python has no vLLM"


def test_by_default_vllm_takes_free_ports_and_leaves_the_encoder_room_on_the_gpu() -> None:
    ports = iter(range(9000, 9100))
    whole = decoder_profile(choice(), "unix:///r", lambda _: next(ports))
    assert whole.both.port == 9000
    assert len({whole.prefill.port, whole.decode.port, whole.prefill.side_channel_port}) == 3
    halves = decoder_profile(choice(split=True), "unix:///r", lambda _: next(ports))
    assert 2 * halves.memory_share <= whole.memory_share < 0.9


def test_a_profile_decides_itself_but_for_model_and_redis(tmp_path: Path) -> None:
    file = tmp_path / "decoder.toml"
    file.write_text(
        "model = 'other'\nmemory_share = 0.7\n[both]\nport = 8123\n[redis]\nurl = 'redis://else'\n"
    )
    profile = decoder_profile(choice(profile=file), "unix:///r", free_port)
    assert (profile.model, profile.redis.url) == ("/models/m", "unix:///r")
    assert (profile.memory_share, profile.both.port) == (0.7, 8123)


def test_vllm_reads_redis_as_the_service_writes_it() -> None:
    settings = Settings(model="/models/m", redis=RedisSettings(url="redis://10.0.0.5", prefix="yard"))
    profile = decoder_profile(Choice(settings, ()), settings.redis.url, free_port)
    assert profile.redis == settings.redis


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8080"),
        ("0.0.0.0", "http://127.0.0.1:8080"),
        ("::1", "http://[::1]:8080"),
    ],
)
def test_the_service_is_reached_from_this_machine(host: str, url: str) -> None:
    assert service_url(Settings(host=host, port=8080)) == url


def test_an_own_redis_is_bounded_by_the_budget_of_frames(tmp_path: Path) -> None:
    settings = Settings(model="none", redis=replace(RedisSettings(), redis_budget_bytes=4 << 30))
    command = prepare(Choice(settings, ("serve",)), tmp_path).parts[0].command
    assert int(command[command.index("--maxmemory") + 1]) == (5 << 30) + (256 << 20)


def test_addresses_that_do_not_go_together_end_the_start(tmp_path: Path) -> None:
    settings = Settings(model="none", model_url="http://127.0.0.1:11434")
    with pytest.raises(WrongSetting, match="not beside model_url"):
        prepare(Choice(settings, ("serve",), decoder_url="http://127.0.0.1:8000"), tmp_path)
