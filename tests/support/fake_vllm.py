"""As much of vLLM as the window connector touches, for tests in an environment without it.

``tests/contract/test_vllm_connector.py`` compares it with the installed vLLM: the same methods and arguments.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import torch


class ECConnectorRole(Enum):
    SCHEDULER = 0
    WORKER = 1


class ECConnectorMetadata:
    pass


class ECConnectorBase:
    def __init__(self, vllm_config: Any, role: ECConnectorRole) -> None:
        self._connector_metadata: ECConnectorMetadata | None = None
        self._vllm_config, self._role = vllm_config, role

    @property
    def role(self) -> ECConnectorRole:
        return self._role

    def bind_connector_metadata(self, connector_metadata: ECConnectorMetadata) -> None:
        self._connector_metadata = connector_metadata

    def _get_connector_metadata(self) -> ECConnectorMetadata:
        assert self._connector_metadata is not None
        return self._connector_metadata


@dataclass
class ECConnectorStats:
    data: dict[str, Any] = field(default_factory=dict)


class ECConnectorPromMetrics:
    def __init__(
        self, vllm_config: Any, metric_types: Any, labelnames: Any, per_engine_labelvalues: Any
    ) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        self._gauge_cls = metric_types[Gauge]
        self._counter_cls = metric_types[Counter]
        self._histogram_cls = metric_types[Histogram]
        self._labelnames = labelnames
        self.per_engine_labelvalues = per_engine_labelvalues


@contextmanager
def fake_vllm() -> Iterator[None]:
    """Have ``import vllm`` give this, and the connector's modules imported anew, until the block ends."""
    base = ModuleType("vllm.distributed.ec_transfer.ec_connector.base")
    metrics = ModuleType("vllm.distributed.ec_transfer.ec_connector.metrics")
    platforms = ModuleType("vllm.platforms")
    for name in ("ECConnectorRole", "ECConnectorMetadata", "ECConnectorBase"):
        setattr(base, name, globals()[name])
    for name in ("ECConnectorStats", "ECConnectorPromMetrics"):
        setattr(metrics, name, globals()[name])
    platforms.current_platform = SimpleNamespace(device_type="cpu")  # type: ignore[attr-defined]  # a module made here
    names = ["vllm", "vllm.distributed", "vllm.distributed.ec_transfer"]
    names.append("vllm.distributed.ec_transfer.ec_connector")
    made = {name: ModuleType(name) for name in names} | {m.__name__: m for m in (base, metrics, platforms)}
    ours = ("featcache.vllm_connector", "featcache.vllm_connector_stats")
    before = {name: sys.modules.pop(name, None) for name in (*made, *ours)}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def vllm_config(extra: dict[str, Any], *, hidden: int = 8, dtype: Any = torch.float32) -> Any:
    """Return what a connector reads of vLLM's configuration."""
    hf_config = SimpleNamespace(
        text_config=SimpleNamespace(hidden_size=hidden), vision_config=SimpleNamespace()
    )
    return SimpleNamespace(
        model_config=SimpleNamespace(dtype=dtype, hf_config=hf_config),
        ec_transfer_config=SimpleNamespace(ec_connector_extra_config=extra),
    )


def part(
    identifier: str,
    *,
    at: int,
    tokens: int = 4,
    grid: tuple[int, ...] | None = (1, 4, 4),
    modality: str = "image",
    **fields: Any,
) -> Any:
    """Return one picture of a request; ``fields`` are what it carries beside its grid, such as pixel_values."""
    data = {} if grid is None else {"image_grid_thw": SimpleNamespace(data=torch.tensor(grid))}
    data |= {name: SimpleNamespace(data=value) for name, value in fields.items()}
    position = SimpleNamespace(offset=at, length=tokens, get_num_embeds=lambda: tokens)
    return SimpleNamespace(data=data, modality=modality, identifier=identifier, mm_position=position)


def request(request_id: str, *parts: Any) -> Any:
    """Return a request with these pictures."""
    return SimpleNamespace(request_id=request_id, mm_features=list(parts))
