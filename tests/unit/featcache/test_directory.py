"""Which cameras there are, read by another process than the one that tells of them, from a real Redis."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from core.ids import CameraId, Incarnation
from core.meter import Metric, TallyMeter
from featcache.bulletin import Bulletin, encode_bulletin
from featcache.directory import RedisDirectory, Roll
from featcache.errors import WindowUnavailable
from featcache.redis import RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from livelens.ports import free_port
from tests.support.bulletins import bulletin_of
from tests.support.redis_server import RedisServer, shared_server
from tests.support.windows import FIRST_LIFE, GATE, SECOND_LIFE, YARD


@dataclass
class Stage:
    """One worker that owns cameras, and one process that looks."""

    server: RedisServer
    owner: RedisWindow
    directory: RedisDirectory
    meter: TallyMeter

    async def tell(self, *bulletins: Bulletin) -> tuple[CameraId, ...]:
        return await self.owner.tell(
            {b.camera.id: (b.camera.incarnation, encode_bulletin(b)) for b in bulletins}
        )

    async def look(self, **known: Incarnation) -> Roll:
        return await self.directory.look({CameraId(name): life for name, life in known.items()})


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    server, meter = shared_server(), TallyMeter()
    settings = RedisSettings(url=server.url)
    owner = RedisWindow(settings, settings=Settings(), meter=meter)
    directory = RedisDirectory(settings, meter=meter)
    await owner.open_camera(GATE, FIRST_LIFE)
    yield Stage(server, owner, directory, meter)
    await owner.aclose()
    await directory.aclose()


async def test_without_any_camera_there_is_none(stage: Stage) -> None:
    roll = await stage.look()
    assert (dict(roll.cameras), roll.ended) == ({}, frozenset())
    assert roll.redis_us > 1_700_000_000_000_000


async def test_a_camera_is_there_once_its_owner_tells_of_it_and_what_it_tells_last_counts(
    stage: Stage,
) -> None:
    assert await stage.tell(bulletin_of(name="Door")) == (GATE,)
    newest = bulletin_of(name="Gate", at_us=5)
    await stage.tell(newest)
    roll = await stage.look()
    assert roll.cameras[GATE].bulletin == newest
    assert 0 <= roll.redis_us - roll.cameras[GATE].told_us < 5_000_000


async def test_who_does_not_own_a_life_tells_nothing_of_it(stage: Stage) -> None:
    other = RedisWindow(RedisSettings(url=stage.server.url), settings=Settings(), meter=TallyMeter())
    await other.open_camera(GATE, FIRST_LIFE)
    assert await stage.tell(bulletin_of(name="of the one before")) == ()
    assert await stage.tell(bulletin_of(life=SECOND_LIFE), bulletin_of(camera_id=YARD)) == ()
    assert dict((await stage.look()).cameras) == {}
    await other.aclose()


async def test_a_deleted_camera_has_ended_and_leaves_no_trace_on_the_list(stage: Stage) -> None:
    await stage.owner.open_camera(YARD, FIRST_LIFE)
    await stage.tell(bulletin_of(), bulletin_of(camera_id=YARD))
    await stage.owner.delete_camera(GATE)
    roll = await stage.look(gate=FIRST_LIFE, yard=FIRST_LIFE)
    assert (set(roll.cameras), roll.ended) == ({YARD}, {GATE})
    assert stage.server.cli("ZRANGE", "livelens:cameras", "0", "-1").split() == ["yard"]
    assert (await stage.look()).ended == frozenset()


async def test_a_camera_registered_again_is_there_in_its_new_life(stage: Stage) -> None:
    await stage.tell(bulletin_of())
    await stage.owner.open_camera(GATE, SECOND_LIFE)
    await stage.owner.delete_life(GATE, FIRST_LIFE)  # late; the new life stays listed
    await stage.tell(bulletin_of(life=SECOND_LIFE))
    roll = await stage.look(gate=FIRST_LIFE)
    assert roll.cameras[GATE].bulletin.camera.incarnation == SECOND_LIFE
    assert roll.ended == frozenset()


async def test_what_redis_has_lost_has_not_ended(stage: Stage) -> None:
    await stage.tell(bulletin_of())
    stage.server.cli("FLUSHALL")
    roll = await stage.look(gate=FIRST_LIFE)
    assert (dict(roll.cameras), roll.ended) == ({}, frozenset())


async def test_forged_bulletins_and_names_are_passed_over(stage: Stage) -> None:
    await stage.owner.open_camera(YARD, FIRST_LIFE)
    await stage.tell(bulletin_of(), bulletin_of(camera_id=YARD))
    stage.server.cli("HSET", LifeKeys.of("livelens", GATE, FIRST_LIFE).life, "bulletin", "{}")
    stage.server.cli("ZADD", "livelens:cameras", "1", "../../etc", "1", "nobody")
    assert set((await stage.look()).cameras) == {YARD}
    assert stage.meter.total(Metric.FEATURES_REFUSED) == 1


async def test_telling_keeps_a_camera_alive_that_sends_nothing_and_lets_go_of_those_unheard_of(
    stage: Stage,
) -> None:
    life = LifeKeys.of("livelens", GATE, FIRST_LIFE).life
    stage.server.cli("PEXPIRE", life, "10000")
    stage.server.cli("ZADD", "livelens:cameras", "1", "long-gone")
    await stage.tell(bulletin_of())
    assert int(stage.server.cli("PTTL", life)) > 1_000_000
    assert stage.server.cli("ZRANGE", "livelens:cameras", "0", "-1").split() == ["gate"]


async def test_a_redis_that_is_away_is_said() -> None:
    directory = RedisDirectory(
        RedisSettings(url=f"redis://127.0.0.1:{free_port()}", connect_timeout_us=200_000), meter=TallyMeter()
    )
    with pytest.raises(WindowUnavailable):
        await directory.look({})
    assert directory.fault is not None
    await directory.aclose()
