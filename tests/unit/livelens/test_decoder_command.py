import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from featcache.redis_settings import RedisSettings
from livelens.decoder_command import Found, Start, router_command, start_of
from livelens.decoder_profile import DecoderProfile, Device, Instance, Role
from livelens.errors import WrongSetting

CPU = Found(
    python=Path("/v/bin/python"),
    device=Device.CPU,
    packages=Path("/p"),
    model=Path("/m"),
    name="builtin",
    context_tokens=4096,
    encoder="0123456789ab",
    dtype="float32",
)
GPU = replace(CPU, device=Device.GPU, context_tokens=262_144, name="Qwen/Qwen3-VL-4B-Instruct", dtype="auto")
REDIS = RedisSettings(url="unix:///run/redis.sock")


def flag(start: Start, name: str) -> str:
    return start.command[start.command.index(name) + 1]


def table(start: Start, name: str) -> Any:
    return json.loads(flag(start, name))


def test_the_command_serves_the_model_on_the_loopback_and_tells_nobody() -> None:
    start = start_of(DecoderProfile(), Role.BOTH, CPU)
    assert start.command[:3] == ("/v/bin/python", "-m", "vllm.entrypoints.openai.api_server")
    assert flag(start, "--model") == "/m"
    assert flag(start, "--served-model-name") == "builtin"
    assert (flag(start, "--host"), flag(start, "--port"), start.url) == (
        "127.0.0.1",
        "8200",
        "http://127.0.0.1:8200",
    )
    assert flag(start, "--scheduling-policy") == "priority"
    assert "--enable-mm-embeds" in start.command
    assert "--enable-prompt-tokens-details" in start.command
    assert start.command[start.command.index("--chat-template-content-format") + 1] == "openai"
    assert start.environment["PYTHONPATH"] == "/p"
    assert start.environment["VLLM_NO_USAGE_STATS"] == start.environment["HF_HUB_OFFLINE"] == "1"


def test_the_built_in_model_computes_as_it_does_in_our_process_unless_the_profile_says_otherwise() -> None:
    assert flag(start_of(DecoderProfile(), Role.BOTH, CPU), "--dtype") == "float32"
    assert flag(start_of(DecoderProfile(dtype="bfloat16"), Role.BOTH, CPU), "--dtype") == "bfloat16"
    assert flag(start_of(DecoderProfile(), Role.BOTH, GPU), "--dtype") == "auto"


def test_the_context_is_the_models_own_and_not_more_than_needed() -> None:
    assert flag(start_of(DecoderProfile(), Role.BOTH, CPU), "--max-model-len") == "4096"
    assert flag(start_of(DecoderProfile(), Role.BOTH, GPU), "--max-model-len") == "16384"
    assert flag(start_of(DecoderProfile(context_tokens=32_768), Role.BOTH, GPU), "--max-model-len") == "32768"


def test_frame_ids_need_redis_and_its_address_stays_out_of_the_command() -> None:
    assert "--ec-transfer-config" not in start_of(DecoderProfile(), Role.BOTH, CPU).command
    start = start_of(DecoderProfile(redis=replace(REDIS, prefix="mine")), Role.BOTH, CPU)
    config = table(start, "--ec-transfer-config")
    assert (config["ec_connector"], config["ec_role"]) == ("WindowConnector", "ec_consumer")
    assert config["ec_connector_module_path"] == "featcache.vllm_connector"
    assert config["ec_connector_extra_config"]["encoder"] == "0123456789ab"
    assert config["ec_connector_extra_config"]["feature_type"] == "bf16"
    assert config["ec_connector_extra_config"]["redis"] == {"prefix": "mine"}
    assert start.environment["LIVELENS_CONNECTOR_REDIS_URL"] == "unix:///run/redis.sock"


@pytest.mark.parametrize(
    "redis",
    [RedisSettings(url="redis://:secret@h:1/0"), RedisSettings(url="redis://h:1/0", password="secret")],
)
def test_a_password_is_in_the_childs_environment_and_is_never_shown(redis: RedisSettings) -> None:
    start = start_of(DecoderProfile(redis=redis), Role.BOTH, CPU)
    assert "secret" in "".join(start.secret.values())
    assert "secret" not in start.shown()
    assert "secret" not in repr(start)
    assert "secret" not in " ".join(start.command)


def test_what_is_shown_can_be_given_to_a_shell() -> None:
    import shlex

    start = start_of(DecoderProfile(redis=REDIS), Role.BOTH, CPU)
    words = shlex.split(start.shown().replace("\\\n", " "))
    assert tuple(words[-len(start.command) :]) == start.command
    assert dict(word.split("=", 1) for word in words[: -len(start.command)]) == start.environment


def test_eight_bit_weights_leave_the_vision_tower_at_sixteen() -> None:
    start = start_of(DecoderProfile(weights_bits=8, kv_bits=8), Role.BOTH, GPU)
    assert flag(start, "--quantization") == "fp8_per_channel"
    assert table(start, "--quantization-config") == {"ignore": ["visual.*"]}
    assert flag(start, "--kv-cache-dtype") == "fp8"
    sixteen = start_of(DecoderProfile(), Role.BOTH, GPU).command
    assert "--quantization" not in sixteen
    assert "--kv-cache-dtype" not in sixteen


def test_what_a_build_cannot_do_is_refused_before_it_starts() -> None:
    with pytest.raises(WrongSetting, match="CPU build does not make 8 bit weights"):
        start_of(DecoderProfile(weights_bits=8), Role.BOTH, CPU)
    with pytest.raises(WrongSetting, match="this CPU has no AVX-512"):
        start_of(DecoderProfile(kv_bits=8), Role.BOTH, replace(CPU, kv8=False))
    with pytest.raises(WrongSetting, match="needs dtype auto, bfloat16 or float16"):
        start_of(DecoderProfile(weights_bits=8, dtype="float32"), Role.BOTH, GPU)


def test_prefill_computes_much_at_once_and_decode_little() -> None:
    profile = DecoderProfile(redis=REDIS)
    for found in (CPU, GPU):
        prefill, decode = (start_of(profile, role, found) for role in (Role.PREFILL, Role.DECODE))
        tokens = [int(flag(start, "--max-num-batched-tokens")) for start in (prefill, decode)]
        answers = [int(flag(start, "--max-num-seqs")) for start in (prefill, decode)]
        assert tokens[0] > tokens[1]
        assert answers[0] < answers[1]
    assert flag(prefill, "--performance-mode") == "throughput"
    assert flag(decode, "--performance-mode") == "interactivity"


def test_an_instance_may_say_its_sizes_itself() -> None:
    profile = DecoderProfile(both=Instance(batch_tokens=512, sequences=3, threads=4, tensor_parallel=2))
    start = start_of(profile, Role.BOTH, CPU)
    assert (flag(start, "--max-num-batched-tokens"), flag(start, "--max-num-seqs")) == ("512", "3")
    assert flag(start, "--tensor-parallel-size") == "2"
    assert start.environment["OMP_NUM_THREADS"] == "4"


def test_the_halves_of_a_question_meet_over_nixl_each_with_a_side_channel_of_its_own() -> None:
    profile = DecoderProfile(redis=REDIS)
    for role, channel in ((Role.PREFILL, "5601"), (Role.DECODE, "5602")):
        start = start_of(profile, role, CPU)
        config = table(start, "--kv-transfer-config")
        assert (config["kv_connector"], config["kv_role"]) == ("NixlConnector", "kv_both")
        assert config["kv_buffer_device"] == "cpu"
        assert start.environment["VLLM_NIXL_SIDE_CHANNEL_PORT"] == channel
        assert start.environment["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "127.0.0.1"
        assert start.environment["UCX_NET_DEVICES"] == "lo"
        assert table(start, "--ec-transfer-config")["ec_role"] == "ec_consumer"
    assert "--kv-transfer-config" not in start_of(profile, Role.BOTH, CPU).command
    assert table(start_of(profile, Role.DECODE, GPU), "--kv-transfer-config")["kv_buffer_device"] == "cuda"


def test_memory_is_a_share_on_a_gpu_and_whole_gibibytes_on_a_cpu() -> None:
    profile = DecoderProfile(kv_bytes=3 << 29, memory_share=0.4, both=Instance(gpus="1"))
    cpu, gpu = (start_of(profile, Role.BOTH, found) for found in (CPU, GPU))
    assert cpu.environment["VLLM_CPU_KVCACHE_SPACE"] == "2"
    assert "--enforce-eager" in cpu.command
    assert (flag(gpu, "--gpu-memory-utilization"), flag(gpu, "--kv-cache-memory-bytes")) == (
        "0.4",
        "1610612736",
    )
    assert gpu.environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert "--enforce-eager" not in gpu.command


def test_more_arguments_come_last_so_that_they_win() -> None:
    start = start_of(DecoderProfile(arguments=("--seed", "7"), chunked_prefill=False), Role.BOTH, CPU)
    assert start.command[-2:] == ("--seed", "7")
    assert "--no-enable-chunked-prefill" in start.command


def test_the_router_stands_before_both_halves() -> None:
    words = router_command(Path("/r/vllm-router"), DecoderProfile(), port=8300, prometheus_port=8301)
    assert words[:2] == ("/r/vllm-router", "--vllm-pd-disaggregation")
    for name, value in (
        ("--prefill", "http://127.0.0.1:8201"),
        ("--decode", "http://127.0.0.1:8202"),
        ("--kv-connector", "nixl"),
        ("--host", "127.0.0.1"),
        ("--port", "8300"),
        ("--prometheus-port", "8301"),
    ):
        assert words[words.index(name) + 1] == value
    assert {"--disable-circuit-breaker", "--disable-retries"} <= set(words)
