from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tests.support.fake_vllm import fake_vllm


@pytest.fixture
def stats() -> Iterator[Any]:
    with fake_vllm():
        from featcache import vllm_connector_stats

        yield vllm_connector_stats


def test_counts_add_up_and_levels_replace(stats: Any) -> None:
    told = stats.WindowStats(data={"loaded": 3, "staged": 5})
    told.aggregate(stats.WindowStats(data={"loaded": 2, "refused:gone": 1, "staged": 4}))
    assert told.reduce() == {"loaded": 5, "refused:gone": 1, "staged": 4}


def test_levels_alone_are_nothing_to_tell(stats: Any) -> None:
    told = stats.WindowStats()
    assert told.is_empty()
    told.add("loaded", 0)
    told.data["staged"] = 7
    assert told.is_empty()
    told.add("loaded")
    assert not told.is_empty()
    told.reset()
    assert told.is_empty()


def test_vllms_metrics_page_shows_counts_by_reason_and_levels(stats: Any) -> None:
    registry = CollectorRegistry()

    def into(kind: Any) -> Any:
        return lambda name, text, labelnames: kind(name, text, labelnames, registry=registry)

    kinds = {Counter: into(Counter), Gauge: into(Gauge), Histogram: into(Histogram)}
    metrics = stats.WindowPromMetrics(None, kinds, ["model_name", "engine"], {0: ["m", "0"]})
    page = generate_latest(registry).decode()
    for name in ("frames_loaded", "pictures_encoded"):
        assert f'vllm:livelens_{name}_total{{engine="0",model_name="m"}} 0.0' in page

    metrics.observe({"loaded": 8, "refused:away": 1, "damaged:length": 2, "staged": 6, "staged_bytes": 99})
    metrics.observe({"loaded": 1, "encoded": 3, "staged": 7})
    page = generate_latest(registry).decode()
    for line in (
        'vllm:livelens_frames_loaded_total{engine="0",model_name="m"} 9.0',
        'vllm:livelens_pictures_encoded_total{engine="0",model_name="m"} 3.0',
        'vllm:livelens_frames_refused_total{engine="0",model_name="m",reason="away"} 1.0',
        'vllm:livelens_values_damaged_total{engine="0",model_name="m",reason="length"} 2.0',
        'vllm:livelens_frames_staged{engine="0",model_name="m"} 7.0',
        'vllm:livelens_staged_bytes{engine="0",model_name="m"} 99.0',
    ):
        assert line in page
