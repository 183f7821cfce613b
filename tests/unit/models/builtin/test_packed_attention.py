import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional

from models.builtin.packed_attention import attend, layout_of

pytestmark = pytest.mark.torch


def may_see(groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which token (row) may see which (column), shape (n, n): the rule, as one masked square."""
    earlier = np.tri(groups.shape[0], dtype=bool)
    return np.asarray(earlier & ((groups[None, :] == 0) | (groups[None, :] == groups[:, None])))


def test_a_token_sees_the_shared_part_and_earlier_tokens_of_its_own_group() -> None:
    seeing = may_see(np.array([0, 0, 1, 1, 2]))
    assert seeing.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]


def test_every_token_takes_what_a_masked_square_gives_it() -> None:
    torch.manual_seed(0)
    groups = [[0] * 7 + [1] * 3 + [2] * 9, [0] * 4 + [1] * 5, [0] * 2 + [1] * 2 + [2] * 2 + [3] * 2]
    longest = max(map(len, groups))
    query, key, value = (torch.randn(3, 2, longest, 8) for _ in range(3))
    rows = [torch.tensor(row).numpy() for row in groups]
    mixed, _ = attend(None, query, key, value, None, packed=layout_of(rows), scaling=0.3)
    for number, row in enumerate(rows):
        size = len(row)
        alone = functional.scaled_dot_product_attention(
            *(part[number : number + 1, :, :size] for part in (query, key, value)),
            attn_mask=torch.from_numpy(may_see(row)),
            scale=0.3,
        )
        assert torch.allclose(mixed[number, :size], alone[0].transpose(0, 1), atol=1e-5)


def test_conversations_of_one_length_are_computed_together() -> None:
    layout = layout_of([torch.tensor([0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3]).numpy()])
    assert [talks.at.shape for talks in layout.talks] == [(2, 3), (1, 7)]
    assert layout.talks[0].real.tolist() == [[True, True, False], [True, True, True]]
