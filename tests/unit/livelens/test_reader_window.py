"""The published window as questions see it: what is away is never empty, and silence is never quiet."""

from collections.abc import Awaitable, Callable

import pytest

from core.ids import CameraId
from core.meter import NullMeter
from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from featcache import MemoryPool, Settings, UnknownCamera, WindowUnavailable
from livelens.errors import CamerasElsewhere
from livelens.reader_window import PublishedPictures, PublishedView
from tests.support.windows import FIRST_LIFE, GATE, YARD, stored

EVER = Span(0, 1 << 60)


class Owners:
    """What is known of owners, as a test says."""

    def __init__(self) -> None:
        self.reached = True
        self.known = {GATE}
        self.silent_us: int | None = None

    def knows(self, camera_id: CameraId) -> bool:
        return camera_id in self.known

    def silent_since_us(self, camera_id: CameraId) -> int | None:
        return self.silent_us


@pytest.fixture
async def pool() -> MemoryPool:
    pool = MemoryPool(Settings(), meter=NullMeter())
    await pool.open_camera(GATE, FIRST_LIFE)
    for t_us in (10, 20):
        await pool.put(stored(t_us, jpeg=b"%d" % t_us), incarnation=FIRST_LIFE)
    await pool.put_record(GATE, StaticSpan(10, 20), incarnation=FIRST_LIFE)
    return pool


@pytest.fixture
def owners() -> Owners:
    return Owners()


@pytest.fixture
def view(pool: MemoryPool, owners: Owners) -> PublishedView:
    return PublishedView(pool, owners)


ASKING: tuple[Callable[[PublishedView, CameraId], Awaitable[object]], ...] = (
    lambda view, camera_id: view.head(camera_id),
    lambda view, camera_id: view.index(camera_id, EVER),
    lambda view, camera_id: view.newest(camera_id, before_us=1 << 60, count=1),
    lambda view, camera_id: view.at(camera_id, 10),
    lambda view, camera_id: view.records(camera_id, EVER),
)


async def test_what_is_there_is_passed_on(view: PublishedView, pool: MemoryPool) -> None:
    assert await view.head(GATE) == await pool.head(GATE)
    infos = await view.index(GATE, EVER)
    assert [info.t_us for info in infos] == [10, 20]
    assert [i.t_us for i in await view.newest(GATE, before_us=20, count=5)] == [10]
    assert [f.t_us for f in await view.fetch([info.ref for info in infos])] == [10, 20]
    assert await view.fetch([]) == ()
    assert (frame := await view.at(GATE, 20)) is not None
    assert frame.t_us == 20
    assert await view.records(GATE, EVER) == (StaticSpan(10, 20),)


@pytest.mark.parametrize("ask", ASKING)
async def test_while_redis_does_not_answer_nobody_waits_for_it(
    view: PublishedView, owners: Owners, ask: Callable[[PublishedView, CameraId], Awaitable[object]]
) -> None:
    owners.reached = False
    with pytest.raises(WindowUnavailable):
        await ask(view, GATE)
    with pytest.raises(WindowUnavailable):
        await view.fetch([stored(10).ref])


@pytest.mark.parametrize("ask", ASKING)
async def test_a_camera_that_is_known_and_not_there_is_away_and_one_nobody_knows_is_unknown(
    view: PublishedView, owners: Owners, ask: Callable[[PublishedView, CameraId], Awaitable[object]]
) -> None:
    owners.known.add(YARD)
    with pytest.raises(WindowUnavailable):
        await ask(view, YARD)
    owners.known.clear()
    with pytest.raises(UnknownCamera):
        await ask(view, YARD)


async def test_from_when_an_owner_was_last_heard_of_there_is_a_gap(
    view: PublishedView, owners: Owners
) -> None:
    owners.silent_us = 20
    assert await view.records(GATE, EVER) == (StaticSpan(10, 20), Gap(20, None, GapReason.SERVICE_STOPPED))
    assert await view.records(GATE, Span(0, 20)) == (StaticSpan(10, 20),)


async def test_a_gap_that_is_open_already_says_enough(
    view: PublishedView, owners: Owners, pool: MemoryPool
) -> None:
    ended = Gap(15, None, GapReason.ENDED)
    await pool.put_record(GATE, ended, incarnation=FIRST_LIFE)
    owners.silent_us = 20
    assert await view.records(GATE, EVER) == (StaticSpan(10, 20), ended)


async def test_the_latest_picture_is_that_of_the_newest_sample(view: PublishedView, pool: MemoryPool) -> None:
    pictures = PublishedPictures(view)
    assert await pictures.latest(GATE) == b"20"
    await pool.trim(GATE, before_us=100)
    assert await pictures.latest(GATE) is None


def test_the_live_picture_is_elsewhere(view: PublishedView) -> None:
    with pytest.raises(CamerasElsewhere):
        PublishedPictures(view).watch(GATE)
