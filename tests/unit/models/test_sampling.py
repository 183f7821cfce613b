import pytest
import torch

from core.ids import RequestId
from models.decoder import SamplingParams
from models.sampling import Sampler

pytestmark = pytest.mark.torch

SCORES = torch.tensor([1.0, 3.0, 2.0, 2.9])


def draws(sampling: SamplingParams, request_id: str = "req_1", count: int = 50) -> list[int]:
    sampler = Sampler(sampling, RequestId(request_id))
    return [sampler.choose(SCORES) for _ in range(count)]


def test_temperature_zero_takes_the_best() -> None:
    assert draws(SamplingParams()) == [1] * 50
    assert Sampler(SamplingParams(), RequestId("r")).greedy


def test_chance_is_repeatable_by_seed_and_by_request() -> None:
    warm = SamplingParams(temperature=1.0)
    seeded = SamplingParams(temperature=1.0, seed=7)

    assert draws(warm) == draws(warm)
    assert draws(warm) != draws(warm, "req_2")
    assert draws(seeded) == draws(seeded, "req_2")
    assert len(set(draws(warm))) > 1


def test_chance_follows_the_scores() -> None:
    found = draws(SamplingParams(temperature=1.0), count=500)

    assert found.count(1) > found.count(2) > found.count(0)


def test_a_low_temperature_is_nearly_greedy() -> None:
    assert set(draws(SamplingParams(temperature=0.01))) <= {1, 3}


def test_the_unlikeliest_tokens_are_left_out() -> None:
    found = draws(SamplingParams(temperature=1.0, top_p=0.5), count=500)

    assert set(found) == {1, 3}, "the best has a share of 0.42, the second of 0.38"
    assert set(draws(SamplingParams(temperature=1.0, top_p=0.0))) == {1}
    assert draws(SamplingParams(temperature=1.0, top_p=1.0)) == draws(SamplingParams(temperature=1.0))
