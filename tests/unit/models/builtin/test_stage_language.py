from random import Random

import pytest
import torch

from models.builtin.clips import ClipBank, record_clip
from models.builtin.optimizing import Optimizers
from models.builtin.stage_language import Phase, Pieces, check, draw_rows, see_rows, train_language
from models.builtin.train import new_pieces
from sampler import Sampler

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> ClipBank:
    bank = ClipBank(tmp_path_factory.mktemp("clips"))
    for seed in (3, 4):
        bank.write(seed, record_clip(seed, Sampler()))
    return bank


@pytest.fixture
def pieces() -> Pieces:
    torch.set_num_threads(1)
    return new_pieces(0)


def test_rows_of_all_sizes_are_seen_and_as_many_frames_learn_as_wanted(
    bank: ClipBank, pieces: Pieces
) -> None:
    rows = draw_rows(Random(0), bank, [3, 4], pieces, frames=2, rows=6)
    seen, learning = see_rows(pieces.model.model.visual, rows, live=6)
    for packed, tokens in zip(rows, seen, strict=True):
        assert tokens.pooled.shape[:2] == (
            2,
            packed.window.clip.cells.rows * packed.window.clip.cells.columns,
        )
    assert 0 < sum(labels.colour.shape[0] for _, labels in learning) <= 6


def test_stages_learn_go_on_and_tell_what_was_right(bank: ClipBank, pieces: Pieces) -> None:
    saved: list[int] = []
    before = check(pieces, bank, [3], frames=1, rows=6)
    train_language(
        pieces,
        Optimizers([pieces.model, pieces.heads], matrix_rate=5e-3, other_rate=5e-3),
        bank,
        [Phase(1, 5), Phase(2, 1)],
        train_seeds=lambda: [3, 4],
        check_seeds=[3],
        start=1,
        tokens=2_000,
        check_rows=2,
        save=saved.append,
    )
    assert saved == [6]
    after = check(pieces, bank, [3], frames=1, rows=6)
    losses = [float(str(tally.told()["loss"])) for tally in (before, after)]
    assert losses[1] < losses[0]
    assert after.asked["all"] > 30
