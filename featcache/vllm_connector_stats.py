"""What the connector tells vLLM of its work: lines in its log, and metrics beside vLLM's own.

vllm:livelens_frames_loaded_total             frames handed to the model from the window
vllm:livelens_pictures_encoded_total          pictures that went through vLLM's own encoder; frames by id never do
vllm:livelens_frames_refused_total{reason=}   frames for which a request failed (``vllm_connector_checks.Refusal``)
vllm:livelens_values_damaged_total{reason=}   values in Redis that were not ours, or broken (``codec.ForgedValue``)
vllm:livelens_frames_staged, _staged_bytes    features kept ready in the engine's process
"""

from collections.abc import Mapping
from typing import Any

from vllm.distributed.ec_transfer.ec_connector.metrics import ECConnectorPromMetrics, ECConnectorStats

Counts = Mapping[str, int]

_REFUSED, _DAMAGED = "refused:", "damaged:"


class WindowStats(ECConnectorStats):  # type: ignore[misc]  # vLLM is in an environment of its own, so untyped here
    """Counts since the last report: ``loaded``, ``encoded``, ``refused:<reason>``, ``damaged:<reason>``; levels beside them."""

    def add(self, name: str, amount: int = 1) -> None:
        """Add to a count."""
        if amount:
            self.data[name] = self.data.get(name, 0) + amount

    def reset(self) -> None:
        self.data: dict[str, Any] = {}

    def aggregate(self, other: ECConnectorStats) -> "WindowStats":
        for name, value in other.data.items():
            self.data[name] = value if name in _LEVELS else self.data.get(name, 0) + value
        return self

    def reduce(self) -> dict[str, int | float]:
        return dict(self.data)

    def is_empty(self) -> bool:
        return not any(name not in _LEVELS for name in self.data)


_LEVELS = {
    "staged": ("vllm:livelens_frames_staged", "Frames kept ready in the engine's process."),
    "staged_bytes": ("vllm:livelens_staged_bytes", "Bytes of features kept ready in the engine's process."),
}


class WindowPromMetrics(ECConnectorPromMetrics):  # type: ignore[misc]  # as above
    """Exports the counts by vLLM's ``/metrics``."""

    def __init__(
        self,
        vllm_config: Any,
        metric_types: Any,
        labelnames: list[str],
        per_engine_labelvalues: dict[int, list[object]],
    ) -> None:
        super().__init__(vllm_config, metric_types, labelnames, per_engine_labelvalues)
        by_reason = [*labelnames, "reason"]
        self._counts = {
            "loaded": self._counter_cls(
                "vllm:livelens_frames_loaded",
                "Frames handed to the model from the window.",
                labelnames=labelnames,
            ),
            "encoded": self._counter_cls(
                "vllm:livelens_pictures_encoded",
                "Pictures, and features sent inline, that went through vLLM's own encoder step.",
                labelnames=labelnames,
            ),
        }
        self._refused = self._counter_cls(
            "vllm:livelens_frames_refused",
            "Frames for which a request failed, by reason.",
            labelnames=by_reason,
        )
        self._damaged = self._counter_cls(
            "vllm:livelens_values_damaged",
            "Values in Redis that were not whole frames.",
            labelnames=by_reason,
        )
        self._levels = {
            name: self._gauge_cls(exported, text, labelnames=labelnames)
            for name, (exported, text) in _LEVELS.items()
        }
        for values in per_engine_labelvalues.values():
            for counter in self._counts.values():
                counter.labels(*values)  # shown as 0 from the start

    def observe(self, transfer_stats_data: dict[str, Any], engine_idx: int = 0) -> None:
        values = self.per_engine_labelvalues[engine_idx]
        for name, amount in transfer_stats_data.items():
            if name in self._levels:
                self._levels[name].labels(*values).set(amount)
            elif name in self._counts:
                self._counts[name].labels(*values).inc(amount)
            elif name.startswith(_REFUSED):
                self._refused.labels(*values, name.removeprefix(_REFUSED)).inc(amount)
            elif name.startswith(_DAMAGED):
                self._damaged.labels(*values, name.removeprefix(_DAMAGED)).inc(amount)
