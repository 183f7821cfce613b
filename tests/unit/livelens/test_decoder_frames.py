import time
from collections.abc import Sequence

import pytest

from core.ids import CameraId, FrameRef
from core.meter import NullMeter
from featcache.errors import WindowUnavailable
from featcache.pool import MemoryPool
from featcache.settings import Settings
from featcache.window import StoredFrame
from livelens.decoder_frames import DecoderFrames
from tests.support.windows import FIRST_LIFE, GATE, NOON_US, YARD, features_of, stored

FRAMES = [stored(NOON_US + n, seq=n, features=features_of(seed=n)) for n in range(4)]
REFS = [frame.ref for frame in FRAMES]


class Copy:
    """Passes for the copy in Redis; frames of ``late`` come with the second look."""

    def __init__(self, *there: FrameRef, late: Sequence[FrameRef] = ()) -> None:
        self.there = set(there)
        self.late = set(late)
        self.looks: list[list[FrameRef]] = []
        self.away = False

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        if self.away:
            raise WindowUnavailable(GATE)
        self.looks.append(list(refs))
        if len(self.looks) > 1:
            self.there |= self.late
        return tuple(ref for ref in refs if ref in self.there)

    async def fetch(self, refs: Sequence[FrameRef]) -> tuple[StoredFrame, ...]:
        return tuple(frame for frame in FRAMES if frame.ref in refs and frame.ref in self.there)


async def test_one_look_is_enough_where_all_are_there_or_old_ones_are_gone() -> None:
    copy = Copy(*REFS[1:])
    assert await DecoderFrames(copy, None).published(REFS) == set(REFS[1:])
    assert copy.looks == [REFS]


async def test_the_newest_frames_are_waited_for_a_moment() -> None:
    copy = Copy(*REFS[:2], late=REFS[2:])
    assert await DecoderFrames(copy, None).published(REFS) == set(REFS)
    assert copy.looks == [REFS, REFS[2:]]


async def test_what_never_comes_is_not_waited_for_long() -> None:
    copy = Copy(REFS[0])
    began_s = time.monotonic()
    assert await DecoderFrames(copy, None).published(REFS) == {REFS[0]}
    assert time.monotonic() - began_s < 2
    assert copy.looks[1:] == [REFS[1:]] * (len(copy.looks) - 1)


async def test_each_camera_s_newest_counts_for_itself() -> None:
    other = stored(NOON_US - 5, camera_id=YARD, features=features_of()).ref
    copy = Copy(*REFS, late=[other])
    assert await DecoderFrames(copy, None).published([other, *REFS]) == {other, *REFS}


class Own:
    """Passes for a window that this process publishes; frames of ``late`` lie in Redis from the second look on."""

    def __init__(
        self, *there: FrameRef, late: Sequence[FrameRef] = (), spilled: Sequence[FrameRef] = ()
    ) -> None:
        self.there = set(there)
        self.late = set(late)
        self.spilled = set(spilled)
        self.looks = 0
        self.promoted: list[list[FrameRef]] = []

    def owns(self, camera_id: CameraId) -> bool:
        return camera_id == GATE

    async def lying_there(self, refs: Sequence[FrameRef]) -> frozenset[FrameRef]:
        self.looks += 1
        if self.looks > 1:
            self.there |= self.late
        return frozenset(ref for ref in refs if ref in self.there)

    def on_their_way(self, refs: Sequence[FrameRef]) -> list[FrameRef]:
        return [ref for ref in refs if ref not in self.spilled]

    async def promote(self, refs: Sequence[FrameRef]) -> tuple[FrameRef, ...]:
        self.promoted.append(list(refs))
        return tuple(ref for ref in refs if ref in self.spilled)


async def test_of_its_own_cameras_a_process_asks_nobody() -> None:
    copy, own = Copy(), Own(*REFS)
    assert await DecoderFrames(copy, None, own=own).published(REFS) == set(REFS)
    assert (copy.looks, own.looks, own.promoted) == ([], 1, [])


async def test_its_own_newest_frames_are_waited_for_and_spilled_ones_are_lent_at_once() -> None:
    own = Own(REFS[2], late=REFS[3:], spilled=REFS[:2])
    assert await DecoderFrames(Copy(), None, own=own).published(REFS) == set(REFS)
    assert own.promoted == [REFS[:2]]
    lent = Own(spilled=REFS)
    assert await DecoderFrames(Copy(), None, own=lent).published(REFS) == set(REFS)
    assert (lent.looks, lent.promoted) == (1, [REFS])


async def test_frames_of_others_are_asked_for_beside_its_own() -> None:
    other = stored(NOON_US, camera_id=YARD, features=features_of()).ref
    copy, own = Copy(other), Own(*REFS)
    assert await DecoderFrames(copy, None, own=own).published([*REFS, other]) == {*REFS, other}
    assert copy.looks == [[other]]


async def test_redis_away_is_told() -> None:
    copy = Copy()
    copy.away = True
    with pytest.raises(WindowUnavailable):
        await DecoderFrames(copy, None).published(REFS)


async def test_features_come_from_redis_or_from_this_process() -> None:
    pool = MemoryPool(Settings(), meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    for frame in FRAMES[:2]:
        await pool.put(frame, incarnation=FIRST_LIFE)
    frames = DecoderFrames(Copy(*REFS[2:]), pool)

    assert await frames.read(REFS) == {frame.ref: frame.features for frame in FRAMES[2:]}
    assert await frames.held(REFS) == {frame.ref: frame.features for frame in FRAMES[:2]}
    assert await DecoderFrames(Copy(), None).held(REFS) == {}
