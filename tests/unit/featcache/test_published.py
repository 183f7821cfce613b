"""The pool with its copy in Redis: nothing Redis does is felt in the owner's process, and deletion leaves nothing."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from core.frames import FeatureType
from core.ids import make_frame_ref
from core.meter import NullMeter
from core.records import StaticSpan
from featcache.bulletin import encode_bulletin
from featcache.directory import RedisDirectory
from featcache.errors import WindowUnavailable
from featcache.narrow import narrowed
from featcache.redis_settings import RedisSettings
from featcache.window import Tier
from livelens.ports import free_port
from store.store import Store
from tests.support.bulletins import bulletin_of
from tests.support.published import EVER, Stage, published, until
from tests.support.redis_server import RedisServer
from tests.support.windows import ENCODER, FIRST_LIFE, GATE, SECOND_LIFE, YARD, features_of, stored

SIZE = stored(1, features=features_of()).size_bytes


async def test_deleting_takes_every_trace_in_redis_and_says_how_many_frames_there_were() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=5 * SIZE) as stage:
            await stage.window.open_camera(YARD, FIRST_LIFE)
            await stage.put(1, camera_id=YARD)
            await stage.put(*range(1, 11))
            await stage.window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            await until(lambda: stage.window.statistics()[0].published >= 11)
            before = stage.window._redis._keys(GATE, FIRST_LIFE)
            assert await stage.window.delete_camera(GATE) == 10
            left = [key for key in server.key_names() if key.startswith(before.root) or "gate" in key]
            assert left == [before.gone]
            assert await stage.tiers() == {}
            await stage.until_published(1, camera_id=YARD)


async def test_a_camera_deleted_while_redis_is_away_is_deleted_there_when_it_is_back() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1, 2)
            await stage.until_published(1, 2)
            server.freeze()
            began_s = time.monotonic()
            assert await stage.window.delete_camera(GATE) == 2
            assert time.monotonic() - began_s < 1.5
            server.thaw()
            await until(
                lambda: len(server.key_names()) == 2
            )  # the nameless mark, and the owner's sign of life
            assert not [key for key in server.key_names() if "gate" in key]


async def test_a_deletion_redis_was_not_there_for_is_done_by_the_next_process(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "a.db") as store:
        with RedisServer() as server:
            async with published(server, deletions=store.deletions) as stage:
                await stage.put(1, 2)
                await stage.until_published(1, 2)
                server.freeze()
                assert await stage.window.delete_camera(GATE) == 2
                assert await store.deletions.list() == ((GATE, FIRST_LIFE),)
            server.thaw()
            assert [key for key in server.key_names() if "gate" in key]
            async with published(server, deletions=store.deletions, open_gate=False) as stage:
                await stage.window.open_camera(GATE, SECOND_LIFE)  # registered again since
                await stage.put(3, life=SECOND_LIFE)
                await stage.until_published(3)

                async def struck_off() -> bool:
                    return await store.deletions.list() == ()

                await until(struck_off)
                old = stage.window._redis._keys(GATE, FIRST_LIFE)
                assert [key for key in server.key_names() if key.startswith(old.root)] == [old.gone]
                assert list(await stage.tiers()) == [3]


async def test_the_owner_knows_what_lies_in_redis_what_will_and_when_redis_is_away() -> None:
    with RedisServer() as server:
        async with published(server, budget_bytes=2 * SIZE) as stage:
            await stage.put(1, 2, 3, 4)
            await stage.until_published(3, 4)
            refs = [stored(t, features=features_of()).ref for t in range(1, 6)]
            assert stage.window.owns(GATE)
            assert not stage.window.owns(YARD)
            assert await stage.window.lying_there(refs) == set(refs[2:4])
            assert stage.window.on_their_way([refs[0], refs[1], refs[4]]) == [refs[4]]
            server.kill()
            await until(lambda: not stage.window.health.up)
            for asked in (stage.window.lying_there, stage.window.promote):
                with pytest.raises(WindowUnavailable):
                    await asked(refs)


async def test_a_camera_registered_again_at_once_begins_empty() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(1, 2)
            await stage.until_published(1, 2)
            server.freeze()
            await stage.window.delete_camera(GATE)
            await stage.window.open_camera(GATE, SECOND_LIFE)
            await stage.put(3, life=SECOND_LIFE)
            server.thaw()
            await stage.until_published(3)
            assert list(await stage.tiers()) == [3]
            assert (await stage.reader.head(GATE)).incarnation == SECOND_LIFE


async def test_a_named_redis_that_is_away_at_the_start_is_not_felt_and_filled_when_it_comes() -> None:
    server = RedisServer()
    async with published(server) as stage:
        await stage.put(1, 2)
        await until(lambda: stage.window.health.fault is not None)
        assert len(await stage.window.fetch([stored(1, features=features_of()).ref])) == 1
        assert (
            stage.window.health.in_words() == "degraded: Redis cannot be reached; the pool serves meanwhile"
        )
        with server:
            await stage.until_published(1, 2)
            assert stage.window.health.up
            await until(lambda: stage.window.health.in_words().startswith("ok, its clock is"))
        await until(lambda: not stage.window.health.up)
        assert set((await stage.shown()).values()) == {Tier.MEMORY}
        assert len(await stage.window.records(GATE, EVER)) == 0


async def test_what_waits_is_published_before_the_end_and_a_redis_that_is_away_is_not_waited_for() -> None:
    with RedisServer() as server:
        async with published(server) as stage:
            await stage.put(0)
            await stage.until_published(0)
            await stage.put(*range(1, 60))
            await stage.window.drain()
            assert len(await stage.tiers()) == 60
            server.kill()
            await stage.put(60)
            await until(lambda: not stage.window.health.up)
            began_s = time.monotonic()
            await stage.window.drain()
            assert time.monotonic() - began_s < 0.5


async def test_features_at_8_bit_are_published_as_they_are_kept_and_read_in_16() -> None:
    with RedisServer() as server:
        size = stored(1, features=narrowed(features_of())).size_bytes
        async with published(server, budget_bytes=2 * size) as stage:
            frames = [
                replace(
                    stored(t, seq=t, features=narrowed(features_of(seed=t))),
                    ref=make_frame_ref(GATE, t, encoder=ENCODER, detail="4i8"),
                )
                for t in range(1, 9)
            ]
            for frame in frames:
                await stage.store(frame)
            await stage.until_published(7, 8)
            refs = [frame.ref for frame in frames]
            (info,) = await stage.reader.newest(GATE, before_us=9, count=1)
            assert (info.tokens, info.size_bytes) == (4, size)
            await until(lambda: owner_alive(stage))
            for t_us in (1, 8):  # lent, and published
                (found,) = await stage.reader.fetch([refs[t_us - 1]])
                (own,) = await stage.window.fetch([refs[t_us - 1]])
                assert found == own
                assert found.features is not None
                assert found.features.dtype is FeatureType.BF16


async def owner_alive(stage: Stage) -> bool:
    (found,) = await stage.reader._link.run(GATE, [("EXISTS", stage.window._redis.owner_keys.alive)])
    return bool(found)


async def test_a_cluster_serves_all_of_it() -> None:
    with RedisServer("--cluster-enabled", "yes", "--cluster-port", str(free_port())) as server:
        server.cli("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        while "cluster_state:ok" not in server.cli("CLUSTER", "INFO"):
            await asyncio.sleep(0.02)
        options = {"url": server.tcp_url, "cluster": True, "operation_timeout_us": 5_000_000}
        async with published(server, budget_bytes=5 * SIZE, reply_timeout_us=1_000_000, **options) as stage:
            await stage.window.open_camera(YARD, FIRST_LIFE)
            await stage.put(1, 2, camera_id=YARD)
            await stage.put(*range(1, 11))
            await stage.window.put_record(GATE, StaticSpan(1, 2), incarnation=FIRST_LIFE)
            await stage.until_published(8, 9, 10)
            await until(lambda: owner_alive(stage))
            refs = [stored(t, features=features_of()).ref for t in (1, 10)]
            assert [frame.t_us for frame in await stage.reader.fetch(refs)] == [1, 10]
            await until(lambda: stage.window.health.clock_offset_us is not None)
            await stage.window.trim(GATE, before_us=5)
            await until(lambda: index_is(stage, range(5, 11)))
            told = {c: (FIRST_LIFE, encode_bulletin(bulletin_of(camera_id=c))) for c in (GATE, YARD)}
            assert await stage.window._redis.tell(told) == (GATE, YARD)
            directory = RedisDirectory(RedisSettings(url=server.tcp_url, cluster=True), meter=NullMeter())
            assert set((await directory.look({})).cameras) == {GATE, YARD}
            assert await stage.window.delete_camera(GATE) == 6
            roll = await directory.look({GATE: FIRST_LIFE})
            assert (set(roll.cameras), roll.ended) == ({YARD}, {GATE})
            await directory.aclose()
            assert stage.window.health.outages == 0, stage.meter.counts


async def index_is(stage: Stage, times: range) -> bool:
    return list(await stage.tiers()) == list(times)


async def test_what_there_is_to_tell_of_a_camera_is_told_again_and_again_also_after_an_outage() -> None:
    bulletins = [bulletin_of()]
    with RedisServer() as server:
        async with published(server) as stage:
            telling = asyncio.create_task(stage.window.tell(lambda: bulletins))
            directory = RedisDirectory(RedisSettings(url=server.url), meter=NullMeter())

            async def names() -> set[str]:
                with suppress(WindowUnavailable):
                    return {
                        listed.bulletin.camera.name for listed in (await directory.look({})).cameras.values()
                    }
                return set()

            async def shows(name: str) -> bool:
                return await names() == {name}

            await until(lambda: shows("Gate"))
            bulletins[:] = [bulletin_of(name="Door")]
            await until(lambda: shows("Door"))
            server.kill()
            await until(lambda: not stage.window.health.up)
            server.start()
            await until(lambda: shows("Door"))
            assert not telling.done()
            telling.cancel()
            await directory.aclose()
