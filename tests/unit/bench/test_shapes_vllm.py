import numpy as np
import pytest

from bench.shapes_vllm import kv_tokens_of, random_features

METRICS = """# HELP vllm:cache_config_info Information
vllm:cache_config_info{block_size="128",cache_dtype="auto",engine="0",num_gpu_blocks="73",num_cpu_blocks="None"} 1.0
"""


def test_room_for_tokens_is_read_from_the_metrics() -> None:
    assert kv_tokens_of(METRICS) == 73 * 128


@pytest.mark.parametrize("text", ["", METRICS.replace("num_gpu_blocks", "blocks")])
def test_metrics_that_do_not_tell_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="do not tell"):
        kv_tokens_of(text)


def test_random_features_are_finite_of_the_width_asked_for_and_differ() -> None:
    one, other = (random_features((48, 8192), "0123456789ab", seed=seed) for seed in range(2))
    assert (one.shape, one.grid) == ((48, 8192), (1, 12, 16))
    values = (one.bits().astype(np.uint32) << 16).view(np.float32)
    assert np.isfinite(values).all()
    assert one.data != other.data
