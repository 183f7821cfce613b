import pytest
import torch

from models.kv import GRANULE_TOKENS, KvRows

pytestmark = pytest.mark.torch

LAYERS, HEADS, DIM = 2, 2, 4


def rows() -> KvRows:
    return KvRows(layers=LAYERS, heads=HEADS, dim=DIM, dtype=torch.float32, device=torch.device("cpu"))


def fill(kv: KvRows, slot: int, values: list[float]) -> None:
    """Write one token per value into every layer of a slot."""
    cache = kv.chunk(slot, len(values))
    block = torch.tensor(values)[None, None, :, None].expand(1, HEADS, len(values), DIM)
    for layer in range(LAYERS):
        cache.update(block + layer, -block - layer, layer)


def held(kv: KvRows, slot: int, tokens: int, layer: int = 0) -> list[float]:
    keys, values = kv.copy(slot, tokens).layers[layer]
    assert torch.equal(keys, -values)
    return [float(v) - layer for v in keys[0, :, 0]]


def test_a_row_grows_from_its_start() -> None:
    kv = rows()
    slot = kv.open(10)
    fill(kv, slot, [1, 2, 3])
    cache = kv.chunk(slot, 2)
    keys, _ = cache.update(torch.full((1, HEADS, 2, DIM), 9.0), torch.full((1, HEADS, 2, DIM), -9.0), 0)

    assert keys[0, 0, :, 0].tolist() == [1, 2, 3, 9, 9]
    assert cache.get_mask_sizes(2) == (5, 0)
    assert cache.get_query_offset() == 3


def test_a_step_writes_every_row_at_its_own_end_and_masks_what_lies_beyond() -> None:
    kv = rows()
    long, short = kv.open(10), kv.open(10)
    fill(kv, long, [1, 2, 3])
    fill(kv, short, [5])
    cache = kv.step([short, long])
    token = torch.tensor([10.0 * slot + 10 for slot in cache.slots])[:, None, None, None].expand(
        2, HEADS, 1, DIM
    )
    for layer in range(LAYERS):
        keys, _ = cache.update(token + layer, -token - layer, layer)
        assert keys.shape == (2, HEADS, 4, DIM)
    mask = cache.mask()

    assert mask is not None
    assert {slot: mask[row, 0, 0].tolist() for row, slot in enumerate(cache.slots)} == {
        long: [True] * 4,
        short: [True, True, False, False],
    }
    assert held(kv, long, 4) == [1, 2, 3, 10]
    assert held(kv, short, 2) == [5, 20]


def test_rows_of_equal_length_need_no_mask() -> None:
    kv = rows()
    slots = [kv.open(10), kv.open(10)]
    for slot in slots:
        fill(kv, slot, [1, 2])

    assert kv.step(slots).mask() is None


def test_a_step_of_some_rows_leaves_the_others_alone() -> None:
    kv = rows()
    slots = [kv.open(10) for _ in range(4)]
    for slot in slots:
        fill(kv, slot, [float(slot)] * (slot + 1))
    cache = kv.step([slots[3], slots[1]])

    assert set(cache.slots) == {slots[3], slots[1]}
    assert [held(kv, slot, slot + 1) for slot in slots] == [[float(s)] * (s + 1) for s in slots]


def test_closing_a_row_keeps_the_others_and_the_last_gives_the_memory_back() -> None:
    kv = rows()
    slots = [kv.open(10) for _ in range(3)]
    for slot in slots:
        fill(kv, slot, [float(slot)] * 3)
    kv.close(slots[0])

    assert len(kv) == 2
    assert held(kv, slots[1], 3) == [1, 1, 1]
    assert held(kv, slots[2], 3) == [2, 2, 2]
    kv.close(slots[2])
    kv.close(slots[1])
    assert kv.size_bytes == 0


def test_blocks_grow_by_granules_and_keep_what_they_hold() -> None:
    kv = rows()
    first = kv.open(10)
    fill(kv, first, [1, 2, 3])
    second = kv.open(GRANULE_TOKENS + 1)
    third = kv.open(5)

    assert held(kv, first, 3) == [1, 2, 3]
    assert kv.size_bytes == 4 * 2 * GRANULE_TOKENS * kv.token_bytes
    assert kv.token_bytes == 2 * LAYERS * HEADS * DIM * 4
    for slot in (first, second, third):
        kv.close(slot)


def test_room_for_a_long_row_that_has_ended_goes_when_rows_are_added() -> None:
    kv = rows()
    long, short = kv.open(10 * GRANULE_TOKENS), kv.open(10)
    fill(kv, short, [4, 5])
    kv.close(long)
    others = [kv.open(10), kv.open(10)]

    assert kv.size_bytes == 4 * GRANULE_TOKENS * kv.token_bytes
    assert held(kv, short, 2) == [4, 5]
    for slot in (short, *others):
        kv.close(slot)


def test_a_kept_state_is_a_copy_and_begins_another_row() -> None:
    kv = rows()
    slot = kv.open(10)
    fill(kv, slot, [1, 2, 3])
    state = kv.copy(slot, 3)
    kv.close(slot)
    other = kv.open(10, state, 2)
    fill(kv, other, [7])

    assert held(kv, other, 3) == [1, 2, 7]
    assert [float(v) for v in state.layers[0][0][0, :, 0]] == [1, 2, 3]
