import pytest
import torch

from models.builtin.architecture import new_vision_tower
from models.builtin.frames import frame_batch
from models.builtin.optimizing import Optimizers
from models.builtin.stage_tower import CellHeads, tower_step, train_tower

pytestmark = pytest.mark.torch


def test_a_tower_learns_a_batch_that_it_is_shown_again_and_again() -> None:
    torch.manual_seed(0)
    tower, heads = new_vision_tower(), CellHeads()
    optimizers = Optimizers([tower, heads])
    batch = frame_batch(3, 4)
    first, _ = tower_step(tower, heads, batch)
    for _ in range(25):
        loss, seen = tower_step(tower, heads, batch)
        optimizers.step(loss)
    assert loss.item() < 0.6 * first.item()
    right = heads.right(seen, batch.labels)
    assert set(right) == {"colour", "shape", "zone", "centre"}
    assert all(0 <= hits <= judged for hits, judged in right.values())


def test_training_goes_on_at_the_step_it_is_given_and_saves_at_the_end() -> None:
    tower, heads = new_vision_tower(), CellHeads()
    saved: list[int] = []
    train_tower(tower, heads, Optimizers([tower, heads]), start=2, steps=4, frames=2, save=saved.append)
    assert saved == [4]
