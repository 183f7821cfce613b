import pytest
import torch

from models.builtin.architecture import TEXT_WIDTH
from models.builtin.change_heads import ChangeHeads, Middle, _whole_window
from models.builtin.changes import change_labels
from models.chat import Cells
from tests.support.toy_scenes import thing, watched

pytestmark = pytest.mark.torch


def test_every_label_has_a_loss_that_falls_when_the_layers_hold_what_it_says() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    heads = ChangeHeads()
    labels = [
        change_labels(
            watched(thing(1), thing(2, "blue", at=(0.8, 0.8), comes_s=0.5), frames_s=(0, 1)), Cells(2, 2)
        ),
        change_labels(watched(thing(1), frames_s=(0,)), Cells(1, 1)),
    ]
    middle = Middle(
        *(torch.randn(count, TEXT_WIDTH, requires_grad=True) for count in (2 * 4 + 1, 2 * 4 + 1, 3, 2))
    )
    learning = torch.optim.Adam([*middle, *heads.parameters()], lr=0.05)
    first = heads.loss(middle, labels)
    for _ in range(250):
        learning.zero_grad()
        sum(heads.loss(middle, labels).values()).backward()
        learning.step()
    last = heads.loss(middle, labels)
    assert {name for name in first if last[name] > 0.3 * first[name]} == set()


def test_where_nothing_can_be_told_the_loss_is_nothing() -> None:
    labels = [change_labels(watched(thing(1), frames_s=(0,)), Cells(1, 1))]
    losses = ChangeHeads().loss(Middle(*(torch.zeros(1, TEXT_WIDTH) for _ in range(4))), labels)
    assert losses["event"] == 0


def test_the_stem_tells_of_the_last_frame_and_of_all_that_came_and_left() -> None:
    labels = change_labels(
        watched(thing(1, leaves_s=0.5), thing(2, "blue", comes_s=0.5), frames_s=(0, 1, 2)), Cells(2, 2)
    )
    whole = _whole_window(labels)
    assert whole.clock.tolist() == [labels.clock[2].tolist()]
    assert (whole.came.sum(), whole.left.sum(), whole.how_many.tolist()) == (1, 1, [1])
