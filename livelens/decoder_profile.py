"""The decoder profile: one file (TOML) that says how vLLM serves a model, in one process or in two.

    model = "Qwen/Qwen3-VL-4B-Instruct"
    [redis]
    url = "unix:///run/redis/redis.sock"
    [prefill]
    port = 8201

``decoder_command`` makes the command line of it. Every role reads the same file, so that what must be equal in a
prefill and a decode instance (model, number types, block size) cannot differ.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from featcache.redis_settings import RedisSettings
from livelens.errors import WrongSetting
from models.opening import BUILTIN

MODEL_CONTEXT_TOKENS = 16_384
"""Context by default, where the model's own is longer: 8,192 vision tokens, labels, history and an answer fit."""

_DTYPES = ("auto", "bfloat16", "float16", "float32")


class Role(StrEnum):
    """What one vLLM instance does of a question."""

    BOTH = "both"
    PREFILL = "prefill"
    DECODE = "decode"


class Device(StrEnum):
    """What an instance computes with; ``auto`` is what the installed build of vLLM is for."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Instance:
    """One vLLM process.

    Attributes:
        port: Where it listens, on the profile's ``host``.
        side_channel_port: Where a prefill or decode instance tells the other of its KV blocks.
        batch_tokens: Tokens computed in one step at most, over all requests; a longer prompt takes several steps.
            Many make prefill fast; few keep the time between two words short. 0: by role and device.
        sequences: Answers running at once. 0: by role and device.
        gpus: The GPUs it may see, as in ``CUDA_VISIBLE_DEVICES``; empty: all.
        tensor_parallel: GPUs one copy of the model is spread over.
        threads: CPU threads of a CPU build; 0: as many as it takes.
    """

    port: int = 8200
    side_channel_port: int = 5600
    batch_tokens: int = 0
    sequences: int = 0
    gpus: str = ""
    tensor_parallel: int = 1
    threads: int = 0

    def __post_init__(self) -> None:
        for name in ("port", "side_channel_port"):
            if not 1 <= getattr(self, name) <= 65_535:
                raise ValueError(f"{name} must be 1 to 65535, got {getattr(self, name)}")
        for name in ("batch_tokens", "sequences", "threads"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        if self.tensor_parallel < 1:
            raise ValueError("tensor_parallel must be at least 1")


@dataclass(frozen=True, slots=True)
class DecoderProfile:
    """How a model is served.

    Attributes:
        model: builtin, a folder, or a hub name that may be fetched.
        name: What ``/v1/models`` calls it; empty: builtin, the folder's name or the hub name.
        dtype: Number type of weights and KV: auto (the checkpoint's; float32 for builtin), bfloat16, float16 or float32.
        weights_bits: 16, or 8: weights of the language model as fp8 with a scale per channel, made while loading. The
            vision tower stays at 16.
        kv_bits: 16, or 8 (fp8).
        context_tokens: Prompt and answer together; 0: the model's own, 16,384 at most.
        memory_share: Share of a GPU's memory that one instance takes.
        kv_bytes: Memory of the KV cache; 0: what the share leaves on a GPU, 1 GiB on a CPU (whole GiB there).
        frames: Frames or pictures in one question at most.
        chunked_prefill: A long prompt is computed in pieces, between which running answers go on.
        device: auto, cpu or gpu.
        eager: No compiling: an earlier start, slower steps. None: on a CPU.
        python: Interpreter of the environment that has vLLM; empty: one of ``.venv-vllm`` in the working folder, else
            this one.
        host: Address to listen on. Whoever reaches it can end the engine with a wrong shape: never an outside one.
        staging_bytes: Features fetched and kept ready in the engine's process.
        fetch_timeout_us: Longest time one question's features may take to come.
        arguments: More of vLLM's own arguments, as they are.
        redis: Where the window's published copy is; without a ``url`` no frame ids can be asked about.
        both, prefill, decode: The instances.
    """

    model: str = BUILTIN
    name: str = ""
    dtype: str = "auto"
    weights_bits: int = 16
    kv_bits: int = 16
    context_tokens: int = 0
    memory_share: float = 0.9
    kv_bytes: int = 0
    frames: int = 64
    chunked_prefill: bool = True
    device: Device = Device.AUTO
    eager: bool | None = None
    python: str = ""
    host: str = "127.0.0.1"
    staging_bytes: int = 1 << 30
    fetch_timeout_us: int = 5_000_000
    arguments: tuple[str, ...] = ()
    redis: RedisSettings = field(default_factory=RedisSettings)
    both: Instance = Instance()
    prefill: Instance = Instance(port=8201, side_channel_port=5601)
    decode: Instance = Instance(port=8202, side_channel_port=5602)

    def __post_init__(self) -> None:
        if not self.model:
            raise ValueError("model must be builtin, a folder or a hub name")
        if self.dtype not in _DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(_DTYPES)}")
        for name in ("weights_bits", "kv_bits"):
            if getattr(self, name) not in (8, 16):
                raise ValueError(f"{name} must be 8 or 16")
        if not 0.05 <= self.memory_share <= 1:
            raise ValueError("memory_share must be 0.05 to 1")
        for name in ("context_tokens", "kv_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        for name in ("frames", "staging_bytes", "fetch_timeout_us"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        ports = [self.prefill.port, self.decode.port]
        channels = [self.prefill.side_channel_port, self.decode.side_channel_port]
        if len({*ports, *channels}) < 4:
            raise ValueError("prefill and decode need four ports of their own")

    def instance(self, role: Role) -> Instance:
        """Return the process of a role."""
        match role:
            case Role.BOTH:
                return self.both
            case Role.PREFILL:
                return self.prefill
            case Role.DECODE:
                return self.decode


def read_profile(file: Path | None, overrides: Mapping[str, Any] | None = None) -> DecoderProfile:
    """Return the profile of a file, with some values replaced; without a file, of defaults and these values.

    Args:
        overrides: As in the file: ``{"model": ..., "redis": {"url": ...}}``; tables are joined, the rest replaced.
    Raises:
        WrongSetting: names file or key, value and what is allowed.
    """
    values: dict[str, Any] = {}
    if file is not None:
        try:
            values = tomllib.loads(file.read_text())
        except OSError as error:
            raise WrongSetting(f"profile {str(file)!r} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise WrongSetting(f"profile {str(file)!r} is not TOML: {error}") from None
    try:
        return _Read(profile=_joined(values, overrides or {})).profile
    except ValidationError as error:
        raise WrongSetting(_one_line(error)) from None


class _Read(BaseModel):
    model_config = ConfigDict(extra="forbid")

    profile: DecoderProfile


def _joined(values: Mapping[str, Any], over: Mapping[str, Any]) -> Any:
    joined = dict(_INSTANCES) | dict(values)
    for name, base in _INSTANCES.items():
        if isinstance(joined[name], dict):
            joined[name] = base | joined[name]  # a table that names one port keeps the role's other
    for key, value in over.items():
        old = joined.get(key)
        joined[key] = old | dict(value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return joined


_INSTANCES: Mapping[str, dict[str, Any]] = {
    role: {
        "port": DecoderProfile().instance(role).port,
        "side_channel_port": DecoderProfile().instance(role).side_channel_port,
    }
    for role in Role
}


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"] if part != "profile"]
    key = ".".join(path)
    if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{key}: there is no such setting of a decoder profile"
    allowed = first["msg"].removeprefix("Value error, ")
    if not path:
        return f"decoder profile: {allowed}"
    shown = "(hidden)" if path[-1] in ("password", "url", "redis") else repr(first["input"])
    return f"{key} = {shown}: {allowed[:1].lower()}{allowed[1:]}"
