from core.meter import Metric, MetricKind
from web.metrics import ExportedMeter


def test_every_metric_is_exported_under_its_own_name() -> None:
    meter = ExportedMeter()
    for metric in Metric:
        labels = dict.fromkeys(metric.value.labels, "x")
        match metric.value.kind:
            case MetricKind.COUNTER:
                meter.count(metric, 2, **labels)
            case MetricKind.GAUGE:
                meter.gauge(metric, 1.5, **labels)
            case MetricKind.HISTOGRAM:
                meter.observe(metric, 0.01, **labels)
    text = meter.render().decode()
    for metric in Metric:
        suffix = "_count" if metric.value.kind is MetricKind.HISTOGRAM else ""
        assert f"\n{metric.value.name}{suffix}" in text, metric
        assert metric.value.help in text
    assert "_created" not in text


def test_two_meters_know_nothing_of_each_other() -> None:
    one, other = ExportedMeter(), ExportedMeter()
    one.count(Metric.FRAMES_IN)
    assert "livelens_frames_in_total 1.0" in one.render().decode()
    assert "livelens_frames_in_total 0.0" in other.render().decode()
