import numpy as np

from models.builtin.silhouettes import find_patches


def test_patches_are_connected_by_sides() -> None:
    mask = np.zeros((6, 8), bool)
    mask[1:3, 1:3] = mask[3:5, 3:5] = True
    found = find_patches(mask)
    assert found is not None
    assert [(p.top, p.bottom, p.left, p.right) for p in found] == [(1, 3, 1, 3), (3, 5, 3, 5)]
