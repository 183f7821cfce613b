import pytest

from models.builtin.clips import record_clip
from models.builtin.frames import frame_batch
from models.builtin.seeds import (
    BENCH,
    CHECKING_CLIPS,
    TOWER_FRAMES,
    TRAINING_CLIPS,
    SeedRefused,
    for_training,
)
from sampler import Sampler


def test_training_refuses_the_scenes_of_the_bench() -> None:
    assert for_training(BENCH - 1) == BENCH - 1
    with pytest.raises(SeedRefused):
        record_clip(BENCH, Sampler())
    with pytest.raises(SeedRefused):
        frame_batch(BENCH, 1)


def test_ranges_of_seeds_stand_far_apart() -> None:
    assert TRAINING_CLIPS + 1_000_000 < CHECKING_CLIPS < CHECKING_CLIPS + 1_000_000 < TOWER_FRAMES < BENCH
