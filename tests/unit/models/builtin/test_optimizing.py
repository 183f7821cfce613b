import pytest
import torch
from torch import nn

from models.builtin.optimizing import Optimizers, share_of_rate

pytestmark = pytest.mark.torch


def test_the_rate_rises_stays_and_falls() -> None:
    rates = [share_of_rate(step, 1_000) for step in range(1_000)]
    assert rates[0] < 0.05
    assert rates[100] == rates[499] == 1.0
    assert rates[-1] == pytest.approx(0.05)


class Net(nn.Module):  # type: ignore[misc]  # the type checker skips torch
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4)])
        self.head = nn.Linear(4, 1)


def test_both_optimizers_go_down_and_take_up_where_they_were() -> None:
    torch.manual_seed(0)
    net = Net()
    optimizers = Optimizers([net], matrix_rate=0.05, other_rate=0.05)
    data = torch.randn(16, 4)

    def loss() -> torch.Tensor:
        return (net.head(net.layers[0](data)) - data[:, :1]).pow(2).mean()

    first = loss().item()
    for _ in range(50):
        optimizers.step(loss())
    assert loss().item() < 0.3 * first
    weights, state = net.state_dict(), optimizers.state_dict()
    other = Net()
    other.load_state_dict(weights)
    again = Optimizers([other], matrix_rate=0.05, other_rate=0.05)
    again.load_state_dict(state)
    assert len(state) == 2
