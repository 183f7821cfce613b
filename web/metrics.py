"""The exporter: counts through ``core.meter.Meter``, writes down in Prometheus' text format."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from core.meter import Metric, MetricKind

_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.4, 0.8, 1.5, 3.0, 6.0, 12.0, 30.0, 60.0)


class ExportedMeter:
    """Every metric of ``core.meter.Metric``, in a registry of its own. Safe to use from any thread."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # one series of times beside every counter, which nobody reads
        self._registry = CollectorRegistry()
        self._counters: dict[Metric, Counter] = {}
        self._gauges: dict[Metric, Gauge] = {}
        self._histograms: dict[Metric, Histogram] = {}
        for metric in Metric:
            spec = metric.value
            labels = list(spec.labels)
            match spec.kind:
                case MetricKind.COUNTER:
                    # The library writes the ending itself.
                    name = spec.name.removesuffix("_total")
                    self._counters[metric] = Counter(name, spec.help, labels, registry=self._registry)
                case MetricKind.GAUGE:
                    self._gauges[metric] = Gauge(spec.name, spec.help, labels, registry=self._registry)
                case MetricKind.HISTOGRAM:
                    self._histograms[metric] = Histogram(
                        spec.name, spec.help, labels, buckets=_BUCKETS_S, registry=self._registry
                    )

    def count(self, metric: Metric, amount: int = 1, /, **labels: str) -> None:
        counter = self._counters[metric]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def gauge(self, metric: Metric, value: float, /, **labels: str) -> None:
        gauge = self._gauges[metric]
        (gauge.labels(**labels) if labels else gauge).set(value)

    def observe(self, metric: Metric, value: float, /, **labels: str) -> None:
        histogram = self._histograms[metric]
        (histogram.labels(**labels) if labels else histogram).observe(value)

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format 0.0.4."""
        return generate_latest(self._registry)
