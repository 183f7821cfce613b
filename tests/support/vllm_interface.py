"""Does a vLLM still have what the window connector and ``livelens decoder`` use? Reads its source; imports nothing.

    python -m tests.support.vllm_interface WHEEL_OR_FOLDER      # a wheel, an unpacked one, or site-packages

``pip download --no-deps vllm`` brings the newest wheel. A finding is a line; none means that all is as it was.
"""

import ast
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

BASE = "vllm/distributed/ec_transfer/ec_connector/base.py"
METRICS = "vllm/distributed/ec_transfer/ec_connector/metrics.py"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"

METHODS: Mapping[str, tuple[str, ...]] = {
    "__init__": ("self", "vllm_config", "role"),
    "ensure_cache_available": ("self", "request", "num_computed_tokens"),
    "has_cache_item": ("self", "identifier"),
    "update_state_after_alloc": ("self", "request", "index"),
    "build_connector_meta": ("self", "scheduler_output"),
    "take_unavailable_requests": ("self",),
    "request_finished": ("self", "request"),
    "get_ec_connector_stats": ("self",),
    "shutdown": ("self",),
    "start_load_caches": ("self", "encoder_cache"),
    "save_caches": ("self", "encoder_cache", "mm_hash"),
    "build_ec_connector_stats": ("cls", "data"),
    "bind_connector_metadata": ("self", "connector_metadata"),
    "_get_connector_metadata": ("self",),
}
"""Methods of the base class that we override or call, with the arguments they must take."""

STATS = ("reset", "aggregate", "reduce", "is_empty")
CALLED = ("ensure_cache_available", "take_unavailable_requests", "has_cache_item", "request_finished")
"""What the scheduler must call, or a frame that cannot be had would end the engine."""

MENTIONED: Mapping[str, tuple[str, ...]] = {
    "vllm/engine/arg_utils.py": (
        "--dtype",
        "--max-model-len",
        "--max-num-batched-tokens",
        "--max-num-seqs",
        "--enable-chunked-prefill",
        "--enable-prefix-caching",
        "--scheduling-policy",
        "--performance-mode",
        "--enable-mm-embeds",
        "--limit-mm-per-prompt",
        "--mm-processor-cache-gb",
        "--enforce-eager",
        "--quantization",
        "--quantization-config",
        "--kv-cache-dtype",
        "--gpu-memory-utilization",
        "--kv-cache-memory-bytes",
        "--tensor-parallel-size",
        "--ec-transfer-config",
        "--kv-transfer-config",
        "--served-model-name",
    ),
    "vllm/entrypoints/launchers/cli_args.py|vllm/entrypoints/common/cli_args.py": (
        "disable_uvicorn_access_log",
        "host",
        "port",
    ),
    "vllm/entrypoints/openai/api_server.py": ("__main__",),
    "vllm/envs.py": (
        "VLLM_NO_USAGE_STATS",
        "VLLM_CPU_KVCACHE_SPACE",
        "VLLM_CPU_OMP_THREADS_BIND",
        "VLLM_NIXL_SIDE_CHANNEL_HOST",
        "VLLM_NIXL_SIDE_CHANNEL_PORT",
    ),
    "vllm/config/ec_transfer.py": (
        "ec_connector",
        "ec_role",
        "ec_consumer",
        "ec_connector_module_path",
        "ec_connector_extra_config",
    ),
    "vllm/config/kv_transfer.py": (
        "kv_connector",
        "kv_role",
        "kv_buffer_device",
        "kv_load_failure_policy",
        "recompute",
    ),
    "vllm/config/quantization.py": ("fp8_per_channel", "ignore"),
    "vllm/distributed/kv_transfer/kv_connector/factory.py": ("NixlConnector",),
    "vllm/v1/core/sched/output.py": ("scheduled_encoder_inputs",),
    "vllm/multimodal/inputs.py": ("mm_position", "identifier", "modality", "get_num_embeds"),
    "vllm/model_executor/models/qwen2_vl.py": ("image_grid_thw", "embedding_fields"),
}
"""Words that must stand in a file; one of several, where it has moved from release to release."""


class _Source(Protocol):
    def read(self, path: str) -> str | None:
        """Return a file of vLLM; None where there is none."""


class Folder:
    """An unpacked wheel, or the site-packages it is installed in."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> str | None:
        file = self._root / path
        return file.read_text() if file.is_file() else None


class Wheel:
    """A wheel as it was downloaded."""

    def __init__(self, file: Path) -> None:
        self._archive = zipfile.ZipFile(file)
        self._names = set(self._archive.namelist())

    def read(self, path: str) -> str | None:
        return self._archive.read(path).decode() if path in self._names else None


def findings(source: _Source) -> Iterator[str]:
    """Yield a line for everything that is missing or different."""
    yield from _methods(source)
    yield from _statistics(source)
    scheduler = source.read(SCHEDULER) or ""
    for name in CALLED:
        if f"ec_connector.{name}(" not in scheduler:
            yield f"{SCHEDULER}: nothing calls {name}"
    for path, words in MENTIONED.items():
        text = next((text for text in map(source.read, path.split("|")) if text is not None), None)
        if text is None:
            yield f"{path}: is not there"
            continue
        yield from (f"{path}: no {word}" for word in words if word not in text)


def _methods(source: _Source) -> Iterator[str]:
    base = _classes(source, BASE).get("ECConnectorBase")
    if base is None:
        yield f"{BASE}: no class ECConnectorBase"
        return
    found = {node.name: node for node in base.body if isinstance(node, ast.FunctionDef)}
    for name, arguments in METHODS.items():
        method = found.get(name)
        if method is None:
            yield f"{BASE}: no method {name}"
        elif tuple(argument.arg for argument in method.args.args) != arguments:
            taken = ", ".join(argument.arg for argument in method.args.args)
            yield f"{BASE}: {name} takes ({taken})"
    for name, method in found.items():
        abstract = any(
            isinstance(word, ast.Name) and word.id == "abstractmethod" for word in method.decorator_list
        )
        if abstract and name not in METHODS:
            yield f"{BASE}: {name} must be overridden, and is not"


def _statistics(source: _Source) -> Iterator[str]:
    classes = _classes(source, METRICS)
    for name, methods in (
        ("ECConnectorStats", STATS),
        ("ECConnectorPromMetrics", ("__init__", "observe")),
    ):
        there = (
            {n.name for n in classes[name].body if isinstance(n, ast.FunctionDef)}
            if name in classes
            else set()
        )
        yield from (f"{METRICS}: {name} has no {method}" for method in methods if method not in there)


def _classes(source: _Source, path: str) -> dict[str, ast.ClassDef]:
    text = source.read(path)
    return {n.name: n for n in ast.parse(text).body if isinstance(n, ast.ClassDef)} if text else {}


def main(place: str) -> int:
    """Print the findings; return how many there are."""
    path = Path(place)
    lines = list(findings(Wheel(path) if path.is_file() else Folder(path)))
    print("\n".join(lines) or "all that is used of vLLM is there, and takes what we give it")
    return len(lines)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 100))
