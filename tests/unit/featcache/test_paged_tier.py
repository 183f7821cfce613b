"""Frames whose features lie in pages of a device, here of the machine's own memory."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from core.clock import ServiceClock
from core.frames import Features, FeatureType
from core.ids import CameraId
from core.meter import NullMeter
from featcache.paged_memory import PagedMemory
from featcache.paged_tier import place
from featcache.pool import MemoryPool
from featcache.published import PublishedWindow
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.shelf import Shelf
from featcache.window import StoredFrame, Tier
from tests.support.published import EVER, until
from tests.support.redis_server import RedisServer
from tests.support.windows import ENCODER, FIRST_LIFE, GATE, YARD, features_of, stored

pytestmark = pytest.mark.torch

PAGE = 64


def memory_of(pages: int) -> PagedMemory:
    return PagedMemory(pages * PAGE, "cpu", page_bytes=PAGE)


def frame_of(t_us: int, *, tokens: int = 4, camera_id: CameraId = GATE) -> StoredFrame:
    """Return a frame whose features take a page for every four tokens."""
    return stored(t_us, camera_id=camera_id, features=features_of(tokens=tokens, seed=t_us))


def put(shelves: dict[CameraId, Shelf], memory: PagedMemory, *frames: StoredFrame) -> None:
    for frame in frames:
        assert shelves[frame.camera_id].put(frame)
        place(shelves, memory, frame.camera_id, frame.t_us)


def tiers(shelf: Shelf) -> dict[int, Tier]:
    return {info.t_us: info.tier for info in shelf.newest(before_us=1 << 60, count=1 << 20)}


def test_the_newest_frames_lie_in_pages_and_older_ones_go_back_to_memory_bit_for_bit() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(3)
    frames = [frame_of(t) for t in (1, 2, 3, 4, 5)]
    put(shelves, memory, *frames)
    shelf = shelves[GATE]
    assert tiers(shelf) == {1: Tier.MEMORY, 2: Tier.MEMORY, 3: Tier.GPU, 4: Tier.GPU, 5: Tier.GPU}
    assert [shelf.get(frame.t_us) for frame in frames] == frames
    assert [shelf.get(t).features.far is None for t in (1, 2, 3, 4, 5)] == [True, True, False, False, False]
    assert shelf.near_bytes == shelf.size_bytes - 3 * PAGE


def test_frames_without_features_take_no_pages() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(2)
    put(shelves, memory, stored(1), stored(2))
    assert set(tiers(shelves[GATE]).values()) == {Tier.MEMORY}
    assert memory.statistics().free == 2


def test_forged_scales_stay_in_memory_where_they_are_checked_when_they_are_read() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(2)
    data = bytes(6) + np.array([1.0, 3e36], "<f4").tobytes()
    features = Features(data, FeatureType.I8, (2, 3), (1, 2, 4), ENCODER)
    put(shelves, memory, stored(1, features=features))
    assert tiers(shelves[GATE]) == {1: Tier.MEMORY}


def test_a_frame_that_comes_late_does_not_push_newer_ones_out() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(2)
    put(shelves, memory, frame_of(8), frame_of(9), frame_of(3))
    assert tiers(shelves[GATE]) == {3: Tier.MEMORY, 8: Tier.GPU, 9: Tier.GPU}


def test_cameras_share_the_pages_evenly_and_lend_what_they_do_not_use() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE), YARD: Shelf(FIRST_LIFE)}, memory_of(6)
    put(shelves, memory, *(frame_of(t) for t in range(1, 11)))
    assert len(shelves[GATE].far) == 6
    put(shelves, memory, *(frame_of(t, camera_id=YARD) for t in range(11, 21)))
    assert [len(shelves[camera_id].far) for camera_id in (GATE, YARD)] == [3, 3]


def test_a_replaced_frame_gives_its_pages_back() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(4)
    for seed in range(10):
        put(shelves, memory, stored(1, features=features_of(tokens=12, seed=seed)))
    assert memory.statistics().free == 1
    assert shelves[GATE].get(1).features == features_of(tokens=12, seed=9)


def test_while_a_reader_holds_what_made_room_the_new_frame_stays_in_memory() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(1)
    put(shelves, memory, frame_of(1))
    reader = shelves[GATE].get(1)
    put(shelves, memory, frame_of(2))
    assert tiers(shelves[GATE]) == {1: Tier.MEMORY, 2: Tier.MEMORY}
    assert reader == frame_of(1)
    del reader
    put(shelves, memory, frame_of(3))
    assert tiers(shelves[GATE])[3] is Tier.GPU


def test_what_lies_in_redis_too_is_told_so_and_by_its_own_tier_when_it_is_spilled() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(2)
    shelf = shelves[GATE]
    put(shelves, memory, frame_of(1), frame_of(2))
    shelf.publish([1, 2])
    put(shelves, memory, frame_of(3))
    assert tiers(shelf) == {1: Tier.REDIS, 2: Tier.REDIS, 3: Tier.GPU}
    shelf.spill(3)
    assert tiers(shelf) == {1: Tier.MEMORY, 2: Tier.GPU, 3: Tier.GPU}


def test_what_the_device_has_lost_leaves_the_shelf_and_moves_no_mark() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(2)
    shelf = shelves[GATE]
    put(shelves, memory, *(frame_of(t) for t in (1, 2, 3)))
    shelf.publish([1, 2])
    assert shelf.drop_far() == 2
    assert tiers(shelf) == {1: Tier.REDIS}
    assert shelf.size_bytes == shelf.near_bytes == frame_of(1).size_bytes
    assert shelf.head().evicted_before_us is None
    assert memory.statistics().free == 2


async def test_what_lies_in_pages_is_published_and_lent_bit_for_bit() -> None:
    frames = [frame_of(t) for t in range(1, 11)]
    size = frames[0].size_bytes
    with RedisServer() as server:
        redis = RedisSettings(url=server.url, redis_budget_bytes=8 * size)
        pool = MemoryPool(Settings(), meter=NullMeter(), pages=memory_of(10))
        window = PublishedWindow(pool, redis, settings=Settings(), clock=ServiceClock(), meter=NullMeter())
        reader = RedisReader(redis, meter=NullMeter())
        await window.open_camera(GATE, FIRST_LIFE)
        tasks = [asyncio.create_task(work()) for work in (window.publish, window.lend)]
        try:
            for frame in frames:
                await window.put(frame, incarnation=FIRST_LIFE)

            async def spilled() -> bool:
                return [info.tier for info in await window.index(GATE, EVER)] == [
                    *[Tier.GPU] * 2,
                    *[Tier.REDIS] * 8,
                ]

            await until(spilled)
            assert list(await reader.fetch([frame.ref for frame in frames])) == frames
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await window.aclose()
            await reader.aclose()


hours = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "evict"]),
        st.sampled_from([GATE, YARD]),
        st.integers(1, 60),
        st.integers(1, 40),
    ),
    max_size=80,
)


@given(hours)
@hypothesis_settings(deadline=None, max_examples=40)
def test_over_any_sequence_pages_and_sums_agree_and_every_frame_is_whole(hours) -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE), YARD: Shelf(FIRST_LIFE)}, memory_of(25)
    for what, camera_id, t_us, tokens in hours:
        shelf = shelves[camera_id]
        if what == "evict":
            shelf.evict_before(t_us)
        else:
            frame = frame_of(t_us, tokens=tokens, camera_id=camera_id)
            if shelf.put(frame):
                place(shelves, memory, camera_id, t_us)
        taken = sum(shelf.far.room_bytes for shelf in shelves.values())
        assert memory.statistics().free * PAGE == memory.capacity_bytes - taken
    for shelf in shelves.values():
        for info in shelf.newest(before_us=1 << 60, count=1 << 20):
            frame = shelf.get(info.t_us)
            assert frame.features == features_of(tokens=info.tokens, seed=info.t_us)
            assert (info.tier is Tier.GPU) == (frame.features.far is not None) == (info.t_us in shelf.far)


def test_four_hours_of_one_camera_leave_the_newest_in_pages_and_nothing_lost() -> None:
    shelves, memory = {GATE: Shelf(FIRST_LIFE)}, memory_of(100)
    shelf, random = shelves[GATE], np.random.default_rng(7)
    for t_us in range(1, 3_000):
        put(shelves, memory, frame_of(t_us, tokens=int(random.integers(1, 40))))
        if len(shelf) > 60:
            shelf.evict_oldest()
    newest_first = [shelf.get(info.t_us) for info in reversed(shelf.newest(before_us=1 << 60, count=60))]
    far = [frame.features.far is not None for frame in newest_first]
    assert far == sorted(far, reverse=True)
    taken = sum(frame.features.far.room_bytes for frame in newest_first if frame.features.far)
    next_one = newest_first[sum(far)].features
    assert memory.statistics().free * PAGE == memory.capacity_bytes - taken
    assert memory.statistics().free * PAGE < memory.room_bytes(len(next_one.data)) + 10 * PAGE
