import numpy as np

from models.builtin.frames import frame_batch


def test_a_batch_is_of_one_size_with_labels_for_every_cell_and_the_same_again() -> None:
    batch, again = frame_batch(4, 6), frame_batch(4, 6)
    rows, columns = batch.cells
    assert batch.pixels.shape == (6, rows * 32, columns * 32, 3)
    assert rows * columns <= 32
    assert all(part.shape == (6, rows * columns) for part in batch.labels)
    assert np.array_equal(batch.pixels, again.pixels)


def test_neighbouring_seeds_give_other_sizes() -> None:
    assert len({frame_batch(seed, 1).cells for seed in range(3)}) == 3
