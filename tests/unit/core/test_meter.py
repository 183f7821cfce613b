import re

import pytest

from core.meter import Meter, Metric, MetricKind, NullMeter, TallyMeter


@pytest.mark.parametrize("metric", list(Metric), ids=lambda metric: metric.name)
def test_every_name_says_whose_it_is_and_what_it_counts(metric: Metric) -> None:
    spec = metric.value
    assert re.fullmatch(r"livelens_[a-z_]+", spec.name)
    assert (spec.kind is MetricKind.COUNTER) == spec.name.endswith("_total")
    if spec.kind is MetricKind.HISTOGRAM:
        assert spec.name.endswith(("_seconds", "_bytes", "_tokens", "_frames"))
    assert spec.help


def test_no_name_is_used_twice() -> None:
    assert len({metric.value.name for metric in Metric}) == len(list(Metric))


@pytest.mark.parametrize("metric", list(Metric), ids=lambda metric: metric.name)
def test_no_label_can_grow_without_end(metric: Metric) -> None:
    assert not {"id", "camera", "camera_id", "url", "address", "user"} & set(metric.value.labels)


def test_a_tally_keeps_everything() -> None:
    tally = TallyMeter()
    tally.count(Metric.SAMPLES, reason="first")
    tally.count(Metric.SAMPLES, 2, reason="motion")
    tally.count(Metric.FRAMES_IN)
    tally.gauge(Metric.SOCKETS, 3)
    tally.gauge(Metric.SOCKETS, 1)
    tally.observe(Metric.FETCH_SECONDS, 0.5)
    tally.observe(Metric.FETCH_SECONDS, 0.25)
    assert tally.counts[Metric.SAMPLES, (("reason", "motion"),)] == 2
    assert tally.total(Metric.SAMPLES) == 3
    assert tally.gauges == {(Metric.SOCKETS, ()): 1}
    assert tally.observed == {(Metric.FETCH_SECONDS, ()): [0.5, 0.25]}


@pytest.mark.parametrize("meter", [NullMeter(), TallyMeter()], ids=["null", "tally"])
def test_every_meter_takes_every_call(meter: Meter) -> None:
    meter.count(Metric.EVICTED, 1, reason="budget")
    meter.gauge(Metric.WINDOW_BYTES, 1.0, tier="memory")
    meter.observe(Metric.GLASS_SECONDS, 1.0)
