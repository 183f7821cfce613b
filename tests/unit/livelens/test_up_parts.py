from pathlib import Path

from livelens.up_parts import (
    Decoding,
    HttpAnswers,
    OwnRedis,
    Part,
    RedisAnswers,
    Road,
    Serving,
    parts_of,
    redis_part,
    shown,
)

REDIS = OwnRedis(Path("/usr/bin/redis-server"), Path("/run/me"), budget_bytes=1 << 30)
SERVING = Serving(Path("/usr/bin/python3"), ("serve", "--port", "8080"), "http://127.0.0.1:8080")


def vllm(port: int) -> Decoding:
    return Decoding(
        ("python", "-m", "vllm"), f"http://127.0.0.1:{port}", {"HF_HUB_OFFLINE": "1"}, {"KEY": "k"}
    )


def by_name(road: Road) -> dict[str, Part]:
    return {part.name: part for part in parts_of(road)}


def test_one_machine_has_redis_a_decoder_and_the_service() -> None:
    road = Road(
        SERVING, REDIS.url, REDIS, decoders={"decoder": vllm(8200)}, decoder_url="http://127.0.0.1:8200"
    )
    parts = by_name(road)
    assert list(parts) == ["redis", "decoder", "serve"]
    assert parts["redis"].ready == RedisAnswers(Path("/run/me/redis.sock"))
    assert parts["decoder"].ready == HttpAnswers("http://127.0.0.1:8200/health")
    assert parts["serve"].ready == HttpAnswers("http://127.0.0.1:8080/readyz")
    assert parts["serve"].environment["LIVELENS_REDIS__URL"] == "unix:///run/me/redis.sock"
    assert parts["serve"].environment["LIVELENS_DECODER_URL"] == "http://127.0.0.1:8200"


def test_the_service_waits_for_redis_but_not_for_a_model_to_load() -> None:
    parts = by_name(Road(SERVING, REDIS.url, REDIS, decoders={"decoder": vllm(8200)}, decoder_url="u"))
    assert parts["serve"].after == ("redis",)
    assert parts["decoder"].after == ("redis",)


def test_apart_the_router_waits_for_both_halves() -> None:
    decoders = {"prefill": vllm(8201), "decode": vllm(8202), "router": vllm(8203)}
    parts = by_name(Road(SERVING, REDIS.url, REDIS, decoders=decoders, decoder_url="http://127.0.0.1:8203"))
    assert list(parts) == ["redis", "prefill", "decode", "router", "serve"]
    assert parts["router"].after == ("prefill", "decode")
    assert parts["serve"].environment["LIVELENS_DECODER_URL"] == "http://127.0.0.1:8203"


def test_a_redis_and_a_decoder_that_are_there_are_not_started() -> None:
    road = Road(SERVING, "redis://user:secret@10.0.0.5:6379/0", decoder_url="http://10.0.0.6:8000")
    parts = by_name(road)
    assert list(parts) == ["serve"]
    assert parts["serve"].after == ()
    assert "secret" not in repr(road) + repr(parts) + shown(list(parts.values()))
    assert parts["serve"].environment_from({})["LIVELENS_REDIS__URL"] == road.redis_url


def test_an_own_redis_writes_no_disk_evicts_nothing_and_listens_to_nobody_else() -> None:
    words = redis_part(REDIS).command
    pairs = dict(zip(words[1::2], words[2::2], strict=True))
    assert pairs["--port"] == "0"
    assert pairs["--unixsocketperm"] == "700"
    assert pairs["--save"] == ""
    assert pairs["--appendonly"] == "no"
    assert pairs["--maxmemory-policy"] == "noeviction"
    assert int(pairs["--maxmemory"]) > REDIS.budget_bytes


def test_a_port_on_the_loopback_is_opened_only_when_it_is_named() -> None:
    with_port = redis_part(OwnRedis(REDIS.program, REDIS.folder, 1 << 20, port=6400)).command
    assert with_port[with_port.index("--port") + 1] == "6400"
    assert with_port[with_port.index("--bind") + 1] == "127.0.0.1"


def test_only_the_service_inherits_our_settings() -> None:
    parts = by_name(Road(SERVING, REDIS.url, REDIS, decoders={"decoder": vllm(1)}, decoder_url="u"))
    inherited = {"LIVELENS_MODEL_KEY": "k", "PATH": "/bin", "PYTHONPATH": "/ours"}
    assert parts["serve"].environment_from(inherited)["LIVELENS_MODEL_KEY"] == "k"
    decoder = parts["decoder"].environment_from(inherited)
    assert decoder == {"PATH": "/bin", "HF_HUB_OFFLINE": "1", "KEY": "k"}


def test_parts_are_shown_as_commands_without_their_secrets() -> None:
    text = shown(parts_of(Road(SERVING, REDIS.url, REDIS, decoders={"decoder": vllm(1)}, decoder_url="u")))
    assert "# redis\n/usr/bin/redis-server --port 0" in text
    assert "KEY=... \\" in text
    assert "HF_HUB_OFFLINE=1 \\" in text


def test_logins_in_addresses_of_cameras_are_not_shown() -> None:
    serving = Serving(
        Path("python"), ("serve", "--camera", "gate=rtsp://me:secret@10.0.0.5/main"), "http://x"
    )
    text = shown(parts_of(Road(serving, REDIS.url, REDIS)))
    assert "secret" not in text
    assert "gate=rtsp://...@10.0.0.5/main" in text


def test_an_address_that_stands_in_the_services_own_settings_is_not_told_again() -> None:
    parts = by_name(Road(SERVING, "redis://10.0.0.5", tells_redis=False))
    assert "LIVELENS_REDIS__URL" not in parts["serve"].environment_from({})
