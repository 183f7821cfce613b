import pytest
import torch

from models.builtin.architecture import TEXT_WIDTH
from models.builtin.change_heads import ChangeHeads
from models.builtin.changes import change_labels
from models.chat import Cells
from tests.support.toy_scenes import thing, watched

pytestmark = pytest.mark.torch


def test_every_label_has_a_loss_that_falls_when_the_layers_hold_what_it_says() -> None:
    torch.manual_seed(0)
    heads = ChangeHeads()
    labels = [
        change_labels(
            watched(thing(1), thing(2, "blue", at=(0.8, 0.8), comes_s=0.5), frames_s=(0, 1)), Cells(2, 2)
        ),
        change_labels(watched(thing(1), frames_s=(0,)), Cells(1, 1)),
    ]
    cells = torch.randn(2 * 4 + 1, TEXT_WIDTH, requires_grad=True)
    frames = torch.randn(3, TEXT_WIDTH, requires_grad=True)
    learning = torch.optim.Adam([cells, frames, *heads.parameters()], lr=0.05)
    first = heads.loss(cells, frames, labels)
    for _ in range(150):
        learning.zero_grad()
        sum(heads.loss(cells, frames, labels).values()).backward()
        learning.step()
    last = heads.loss(cells, frames, labels)
    assert {name for name in first if last[name] > 0.3 * first[name]} == set()


def test_where_nothing_can_be_told_the_loss_is_nothing() -> None:
    labels = [change_labels(watched(thing(1), frames_s=(0,)), Cells(1, 1))]
    losses = ChangeHeads().loss(torch.zeros(1, TEXT_WIDTH), torch.zeros(1, TEXT_WIDTH), labels)
    assert losses["event"] == 0
