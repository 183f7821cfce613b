import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.frames import Features, FeatureType
from featcache.errors import PagesLost, PagesRefused
from featcache.narrow import narrowed
from featcache.paged_memory import PAGE_BYTES, PagedBytes, PagedMemory, open_memory
from tests.support.windows import features_of

pytestmark = pytest.mark.torch

PAGE = 64


def memory_of(pages: int = 100) -> PagedMemory:
    return PagedMemory(pages * PAGE, "cpu", page_bytes=PAGE)


def some_bytes(size: int, *, seed: int = 0) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def free(memory: PagedMemory) -> int:
    return memory.statistics().free


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, 40 * PAGE + 3, 1_000 * PAGE - 5])
def test_bytes_come_back_bit_for_bit(size: int) -> None:
    memory, data = memory_of(2_000), some_bytes(size)
    far = memory.store(data)
    assert far is not None
    assert (len(far), far.near()) == (size, data)
    assert bytes(far.on("cpu").numpy()) == data


@pytest.mark.parametrize("dtype", [FeatureType.BF16, FeatureType.F16, FeatureType.I8, FeatureType.I8_OF_F16])
def test_features_of_every_type_come_back_bit_for_bit_scales_and_all(dtype: FeatureType) -> None:
    wide = FeatureType.F16 if dtype in (FeatureType.F16, FeatureType.I8_OF_F16) else FeatureType.BF16
    values = np.random.default_rng(5).standard_normal((7, 33)).astype(np.float16)
    data = values.tobytes()
    if wide is FeatureType.BF16:
        data = (values.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    features = Features(data, wide, (7, 33), (1, 2, 14), "0123456789ab")
    if dtype.narrow:
        features = narrowed(features)
    assert features.dtype is dtype
    far = memory_of().store(features.near())
    assert far is not None
    there = Features(far, features.dtype, features.shape, features.grid, features.encoder_version)
    assert there == features
    assert there.brought_near() == features
    if dtype.narrow:
        assert (there.steps() == features.steps()).all()
        assert (there.scales() == features.scales()).all()


# A piece of so many bytes is put, or the n-th one held is let go.
steps = st.lists(st.tuples(st.booleans(), st.integers(1, 20 * PAGE)), max_size=60)


@given(steps)
@hypothesis_settings(deadline=None)
def test_pieces_are_never_mixed_up_whatever_is_put_and_let_go(steps: list[tuple[bool, int]]) -> None:
    memory, held = memory_of(), list[tuple[PagedBytes, bytes]]()
    for number, (put, size) in enumerate(steps):
        if put:
            data = some_bytes(size, seed=number)
            far = memory.store(data)
            taken = sum(one.room_bytes for one, _ in held)
            assert (far is not None) == (taken + memory.room_bytes(size) <= memory.capacity_bytes)
            if far is not None:
                held.append((far, data))
            del far
        elif held:
            del held[size % len(held)]
        assert free(memory) == 100 - sum(far.room_bytes for far, _ in held) // PAGE
    assert all(far.near() == data for far, data in held)


def test_what_a_reader_holds_is_not_written_over() -> None:
    memory, data = memory_of(4), some_bytes(4 * PAGE)
    far = memory.store(data)
    reader = far
    del far
    assert memory.store(some_bytes(1)) is None
    assert reader.near() == data
    del reader
    assert memory.store(some_bytes(4 * PAGE, seed=2)) is not None


def test_pages_come_back_from_whatever_thread_drops_them_last() -> None:
    memory = memory_of(4)
    held = [memory.store(some_bytes(4 * PAGE))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert free(memory) == 4


def test_readers_in_other_threads_get_whole_pieces_while_others_are_written() -> None:
    memory = memory_of(1_000)
    pieces = [some_bytes(30 * PAGE, seed=seed) for seed in range(8)]
    stored = [memory.store(data) for data in pieces]
    wrong: list[int] = []

    def read() -> None:
        for turn in range(200):
            number = turn % 8
            far = stored[number]
            if far is None or far.near() != pieces[number]:
                wrong.append(number)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for seed in range(200):
        memory.store(some_bytes(50 * PAGE, seed=seed))
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_piece_for_another_device_is_not_given_as_a_tensor() -> None:
    far = memory_of().store(b"here")
    assert far is not None
    assert far.on("meta") is None


def test_a_copy_made_on_the_device_is_the_readers_own() -> None:
    memory, data = memory_of(2), some_bytes(2 * PAGE)
    tensor = memory.store(data).on("cpu")
    memory.store(some_bytes(2 * PAGE, seed=9))
    assert bytes(tensor.numpy()) == data


def test_pieces_are_equal_bit_for_bit_only() -> None:
    memory = memory_of()
    one, same, other = (memory.store(data) for data in (b"abc", b"abc", b"abd"))
    assert one == same == b"abc" == memoryview(b"abc")
    assert one != other
    assert one != 3
    assert hash(one) == hash(same)


def test_a_device_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_of()
    far = memory.store(b"x")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(memory._torch, "index_select", fail)
    with pytest.raises(PagesLost) as caught:
        far.near()
    assert caught.value.device == "cpu"


def test_pages_are_whole_words() -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        PagedMemory(1 << 10, "cpu", page_bytes=12)


# opening


def test_the_budget_is_taken_in_whole_pages() -> None:
    memory = open_memory(3 * PAGE_BYTES + 1, "cpu")
    assert (memory.capacity_bytes, memory.device) == (3 * PAGE_BYTES, "cpu")
    assert memory.store(features_of().near()) is not None


def test_without_torch_the_start_ends_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(PagesRefused, match=r"window\.gpu_budget_bytes = 65536: .*livelens\[encoder\]"):
        open_memory(1 << 16, "cuda")


def test_a_device_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(
        PagesRefused, match=r"window\.gpu_device = 'cuda:63': there is no such device; there is cpu"
    ):
        open_memory(1 << 16, "cuda:63")


def test_more_than_the_device_has_is_refused_with_what_it_has() -> None:
    with pytest.raises(
        PagesRefused, match=r"window\.gpu_budget_bytes = 1152921504606846976: cpu has \d+ bytes"
    ):
        open_memory(1 << 60, "cpu")


def test_memory_that_the_device_does_not_give_ends_the_start_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    def refuse(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nmore")

    monkeypatch.setattr(torch, "empty", refuse)
    with pytest.raises(
        PagesRefused, match=r"65536: cpu did not give it: CUDA out of memory\. Tried to allocate 2 GiB\.$"
    ):
        open_memory(1 << 16, "cpu")
