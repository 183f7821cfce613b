"""From a decoder profile to the command that starts vLLM, and its environment. Pure.

Source of flags and variables: vLLM 0.32, ``vllm/engine/arg_utils.py`` and ``vllm/envs.py``; tried on its CPU build.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.frames import FeatureType
from featcache.redis_settings import RedisSettings
from livelens.decoder_profile import MODEL_CONTEXT_TOKENS, DecoderProfile, Device, Role
from livelens.errors import WrongSetting

CONNECTOR_MODULE = "featcache.vllm_connector"
CONNECTOR_CLASS = "WindowConnector"
REDIS_URL_VARIABLE = "LIVELENS_CONNECTOR_REDIS_URL"
REDIS_PASSWORD_VARIABLE = "LIVELENS_CONNECTOR_REDIS_PASSWORD"

_GIB = 1 << 30
_SHAPES: Mapping[tuple[Role, Device], tuple[int, int]] = {
    (Role.BOTH, Device.GPU): (8_192, 64),
    (Role.PREFILL, Device.GPU): (16_384, 32),
    (Role.DECODE, Device.GPU): (2_048, 128),
    (Role.BOTH, Device.CPU): (2_048, 16),
    (Role.PREFILL, Device.CPU): (4_096, 8),
    (Role.DECODE, Device.CPU): (1_024, 16),
}
"""Tokens of one step and answers at once, where the profile leaves them open."""

_MODES: Mapping[Role, str] = {
    Role.BOTH: "balanced",
    Role.PREFILL: "throughput",
    Role.DECODE: "interactivity",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What is there to start with.

    Attributes:
        python: Interpreter of the environment that has vLLM.
        device: cpu or gpu: what its build of vLLM is for.
        packages: Folder for its ``PYTHONPATH``, with ``core`` and ``featcache`` and nothing else.
        model: Folder of the checkpoint.
        name: What the model is called.
        context_tokens: The model's own limit.
        encoder: The encoder whose features it reads, 12 hex digits.
        feature_type: Their number type.
        dtype: The number type where the profile says ``auto``.
        kv8: It can keep KV at 8 bit; a CPU needs AVX-512 for that.
    """

    python: Path
    device: Device
    packages: Path
    model: Path
    name: str
    context_tokens: int
    encoder: str
    feature_type: FeatureType = FeatureType.BF16
    dtype: str = "auto"
    kv8: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """A command with what it needs in its environment. ``secret`` values are shown as dots.

    ``listens`` are host and port of each address it will listen on, by the name of the setting. vLLM itself goes on,
    and says that it is healthy, where its side channel cannot listen; no answer would ever come out of that half.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    listens: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def shown(self) -> str:
        """Return it as lines for a shell."""
        lines = [f"{name}={shlex.quote(value)} \\" for name, value in self.environment.items()]
        lines += [f"{name}=... \\" for name in self.secret]
        return "\n".join([*lines, shlex.join(self.command)])


def start_of(profile: DecoderProfile, role: Role, found: Found) -> Start:
    """Return how the instance of a role is started. Raises WrongSetting for what the build cannot do."""
    _refuse_impossible(profile, found)
    instance = profile.instance(role)
    batch_tokens, sequences = _SHAPES[role, found.device]
    wished_context = profile.context_tokens or MODEL_CONTEXT_TOKENS
    command = [
        str(found.python),
        "-m",
        "vllm.entrypoints.openai.api_server",
        *("--model", str(found.model)),
        *("--served-model-name", profile.name or found.name),
        *("--host", profile.host),
        *("--port", str(instance.port)),
        *("--dtype", found.dtype if profile.dtype == "auto" else profile.dtype),
        *("--max-model-len", str(min(wished_context, found.context_tokens))),
        *("--max-num-batched-tokens", str(instance.batch_tokens or batch_tokens)),
        *("--max-num-seqs", str(instance.sequences or sequences)),
        "--enable-chunked-prefill" if profile.chunked_prefill else "--no-enable-chunked-prefill",
        "--enable-prefix-caching",
        *("--scheduling-policy", "priority"),
        *("--performance-mode", _MODES[role]),
        "--enable-mm-embeds",
        *("--limit-mm-per-prompt", _json({"image": profile.frames, "video": 0})),
        *("--mm-processor-cache-gb", "1"),
        "--enable-prompt-tokens-details",  # how much of a prompt was found computed
        *("--chat-template-content-format", "openai"),  # pictures stay where they stand among the words
        "--disable-uvicorn-access-log",
        *_computing(profile, role, found.device),
    ]
    environment = {
        "PYTHONPATH": str(found.packages),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        **_machine(profile, role, found.device),
    }
    secret: dict[str, str] = {}
    listens = {"port": (profile.host, instance.port)}
    if profile.redis.url:
        command += ["--ec-transfer-config", _json(_connector(profile, found))]
        open_, secret = _redis_address(profile.redis)
        environment |= open_
    if role is not Role.BOTH:
        command += ["--kv-transfer-config", _json(_kv_transfer(found.device))]
        environment |= _side_channel(profile, role, found.device)
        listens["side_channel_port"] = (profile.host, instance.side_channel_port)
    return Start(
        command=(*command, *profile.arguments),
        environment=environment,
        secret=secret,
        url=f"http://{profile.host}:{instance.port}",
        listens=listens,
    )


def router_command(
    router: Path, profile: DecoderProfile, *, port: int, prometheus_port: int
) -> tuple[str, ...]:
    """Return the command of ``vllm-router`` that takes every question through prefill and decode.

    Args:
        router: The program ``vllm-router``.
        port, prometheus_port: Where it listens, and where it tells of itself; on the profile's host.
    """
    address = f"http://{profile.host}"
    return (
        str(router),
        "--vllm-pd-disaggregation",
        *("--prefill", f"{address}:{profile.prefill.port}"),
        *("--decode", f"{address}:{profile.decode.port}"),
        *("--kv-connector", "nixl"),
        *("--host", profile.host),
        *("--port", str(port)),
        "--disable-circuit-breaker",  # it takes questions that name lost frames for failures of the instance
        "--disable-retries",  # whoever asked decides whether to ask again
        *("--prometheus-host", profile.host),
        *("--prometheus-port", str(prometheus_port)),
    )


def _refuse_impossible(profile: DecoderProfile, found: Found) -> None:
    if profile.kv_bits == 8 and not found.kv8:
        raise WrongSetting(
            "kv_bits = 8: this CPU has no AVX-512, without which vLLM keeps KV at 16 bit or more"
        )
    if found.device is Device.CPU and profile.weights_bits == 8:
        raise WrongSetting(
            "weights_bits = 8: vLLM's CPU build does not make 8 bit weights while loading; name a checkpoint that has them"
        )
    if profile.weights_bits == 8 and profile.dtype == "float32":
        raise WrongSetting("weights_bits = 8: needs dtype auto, bfloat16 or float16")


def _computing(profile: DecoderProfile, role: Role, device: Device) -> list[str]:
    words: list[str] = []
    if profile.eager or (profile.eager is None and device is Device.CPU):
        words.append("--enforce-eager")
    if profile.weights_bits == 8:
        words += ["--quantization", "fp8_per_channel"]
        words += ["--quantization-config", _json({"ignore": ["visual.*"]})]
    if profile.kv_bits == 8:
        words += ["--kv-cache-dtype", "fp8"]
    if device is Device.GPU:
        words += ["--gpu-memory-utilization", str(profile.memory_share)]
        if profile.kv_bytes:
            words += ["--kv-cache-memory-bytes", str(profile.kv_bytes)]
    tensor_parallel = profile.instance(role).tensor_parallel
    if tensor_parallel > 1:
        words += ["--tensor-parallel-size", str(tensor_parallel)]
    return words


def _machine(profile: DecoderProfile, role: Role, device: Device) -> dict[str, str]:
    instance = profile.instance(role)
    if device is Device.GPU:
        return {"CUDA_VISIBLE_DEVICES": instance.gpus} if instance.gpus else {}
    gibs = max(1, -(-profile.kv_bytes // _GIB))
    found = {"VLLM_CPU_KVCACHE_SPACE": str(gibs), "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    return found | ({"OMP_NUM_THREADS": str(instance.threads)} if instance.threads else {})


def _connector(profile: DecoderProfile, found: Found) -> dict[str, Any]:
    """Return vLLM's encoder-cache configuration; address and password of Redis travel in the environment."""
    redis = {
        name: value
        for name, value in asdict(profile.redis).items()
        if name not in ("url", "password") and value != getattr(RedisSettings(), name)
    }
    return {
        "ec_connector": CONNECTOR_CLASS,
        "ec_role": "ec_consumer",
        "ec_connector_module_path": CONNECTOR_MODULE,
        "ec_connector_extra_config": {
            "encoder": found.encoder,
            "feature_type": found.feature_type,
            "staging_bytes": profile.staging_bytes,
            "fetch_timeout_us": profile.fetch_timeout_us,
            "redis": redis,
        },
    }


def _redis_address(redis: RedisSettings) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that tell Redis' address and password: those to show, and those to hide."""
    hidden = {REDIS_PASSWORD_VARIABLE: redis.password} if redis.password else {}
    address = {REDIS_URL_VARIABLE: redis.url}
    return ({}, address | hidden) if urlsplit(redis.url).password else (address, hidden)


def _kv_transfer(device: Device) -> dict[str, Any]:
    """KV that does not arrive is computed anew: the decode instance reads frame ids too."""
    return {
        "kv_connector": "NixlConnector",
        "kv_role": "kv_both",
        "kv_buffer_device": "cpu" if device is Device.CPU else "cuda",
        "kv_load_failure_policy": "recompute",
    }


def _side_channel(profile: DecoderProfile, role: Role, device: Device) -> dict[str, str]:
    found = {
        "VLLM_NIXL_SIDE_CHANNEL_HOST": profile.host,
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(profile.instance(role).side_channel_port),
    }
    if device is Device.CPU:
        found |= {"UCX_TLS": "tcp,sm,self"}
        if profile.host in ("127.0.0.1", "localhost"):
            found |= {"UCX_NET_DEVICES": "lo"}  # else it listens on every interface
    return found


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
