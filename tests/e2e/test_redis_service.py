"""The whole service with Redis, over HTTP: killed in mid-stream and back, and other processes that read its window."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from core.ids import FrameRef
from core.meter import NullMeter
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.window import Tier
from tests.support.asking import ask
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.published import published, until
from tests.support.redis_server import RedisServer, fail_snapshot, save_again
from tests.support.service import LivelensProcess
from tests.support.web_fakes import World
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

GATE_PATH = "/api/v1/cameras/gate"


@pytest.mark.slow
async def test_redis_killed_in_mid_stream_is_not_felt_and_filled_again(tmp_path: Path) -> None:
    """B43: Redis goes and comes back empty. Meanwhile it costs its own readings only, and no restart afterwards."""
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(100))])
    with RedisServer() as server:
        settings = {"LIVELENS_REDIS__URL": server.url}
        async with LivelensProcess(["serve", "--camera", f"gate={clip}"], settings=settings) as service:
            reader = RedisReader(RedisSettings(url=server.url), meter=NullMeter())

            def frames_total() -> int:
                return service.camera("gate")["state"]["frames_total"]

            def tiers() -> set[str]:
                return {tier["tier"] for tier in service.get(f"{GATE_PATH}/timeline?last_s=600")["tiers"]}

            def redis_up() -> bool:
                return service.get("/readyz")["parts"]["redis"]

            await service.until("frames in Redis", lambda: tiers() == {"redis"})
            asking = asyncio.create_task(ask(service.url, {"cameras": ["gate"], "text": "what happened?"}))
            server.kill()
            assert (await asking).done["outcome"] == "ok"
            await service.until("the outage is told", lambda: not redis_up())
            before = frames_total()
            await service.until("the stream goes on", lambda: frames_total() > before + 20)
            assert tiers() == {"memory"}
            assert held(service, "redis") == 0 < held(service, "memory")
            during = await ask(service.url, {"cameras": ["gate"], "text": "what is happening now?"})
            assert during.done["outcome"] == "ok"
            kept = [frame["ref"] for frame in service.get(f"{GATE_PATH}/frames?last_s=600")["frames"]]
            server.start()
            await service.until("writes are taken again", redis_up, within_s=5)
            await service.until("all is back", lambda: tiers() == {"redis"}, within_s=15)
            assert held(service, "redis") >= len(kept)
            found = await reader.fetch([FrameRef(ref) for ref in kept])
            assert [frame.ref for frame in found] == kept
            picture = service.call("GET", f"{GATE_PATH}/frames/{found[0].t_us}.jpg").content
            assert picture == found[0].jpeg
            assert service.counted("livelens_redis_outages_total") == 1
            assert service.call("DELETE", GATE_PATH).json()["deleted_frames"] >= len(kept)
            assert not [key for key in server.key_names() if "gate" in key]
            await reader.aclose()


def held(service: LivelensProcess, tier: str) -> float:
    """Return how many frames the metrics say a tier holds."""
    text = service.call("GET", "/metrics").text
    return sum(
        map(float, re.findall(rf'^livelens_window_frames{{tier="{tier}"}} (\S+)$', text, re.MULTILINE))
    )


@pytest.mark.slow
async def test_a_failed_snapshot_of_redis_is_told_in_words_and_costs_nothing_else(tmp_path: Path) -> None:
    """B41 b: Redis refuses writes because a snapshot failed, and takes them again once one succeeds."""
    clip = write_clip(tmp_path / "moving.mp4", [Shot(constant_rate(100))])
    with RedisServer("--save", "3600 100000", "--enable-protected-configs", "yes") as server:
        settings = {"LIVELENS_REDIS__URL": server.url}
        async with LivelensProcess(["serve", "--camera", f"gate={clip}"], settings=settings) as service:

            def told() -> tuple[bool, str]:
                ready = service.get("/readyz")  # 200: questions are answered
                return ready["parts"]["redis"], ready["details"]["redis"]

            def frames_total() -> int:
                return int(service.camera("gate")["state"]["frames_total"])

            await service.until("Redis takes frames", lambda: told()[0] and held(service, "redis") > 3)
            fail_snapshot(server)
            await service.until("it is told", lambda: not told()[0])
            assert told()[1].startswith("degraded: Redis takes no writes: its last snapshot to disk failed")
            assert held(service, "redis") > 3, "what lies there can be read"
            before = frames_total()
            await service.until("the stream goes on", lambda: frames_total() > before + 30)
            during = await ask(service.url, {"cameras": ["gate"], "text": "what is happening now?"})
            assert during.done["outcome"] == "ok"
            said = [line for line in service.log.splitlines() if "does not take what is published" in line]
            assert len(said) == 1, "once an outage, whatever the number of tries"
            save_again(server)
            await service.until("it heals by itself", lambda: told()[0], within_s=5)
            await service.until("all is there", lambda: not_in_redis(service) == set(), within_s=15)
            assert service.counted("livelens_redis_outages_total") == 1
            assert "Traceback" not in service.log


def not_in_redis(service: LivelensProcess) -> set[str]:
    """Return the tiers in which frames lie that are not in Redis."""
    return {tier["tier"] for tier in service.get(f"{GATE_PATH}/timeline?last_s=600")["tiers"]} - {"redis"}


async def reading(url: str) -> tuple[World, RedisReader]:
    """Return an application that holds no frames itself and reads those of others."""
    world = World()
    await world.add_camera(GATE)
    reader = RedisReader(
        RedisSettings(url=url, connect_timeout_us=200_000, reply_timeout_us=900_000), meter=NullMeter()
    )
    world.ports = replace(world.ports, window=reader)
    return world, reader


def client_of(world: World) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app=world.app(), client=("127.0.0.1", 1))
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def test_without_redis_a_process_that_holds_no_frames_says_when_to_try_again() -> None:
    """B43: 503 with the cause meanwhile, and no restart once Redis is there."""
    server = RedisServer()
    world, reader = await reading(server.url)
    async with client_of(world) as client:
        for path in ("timeline", "frames?last_s=60", "frames/1.jpg"):
            reply = await client.get(f"{GATE_PATH}/{path}")
            assert (reply.status_code, reply.json()["code"]) == (503, "window_unavailable")
            assert int(reply.headers["Retry-After"]) >= 1
        with server:
            async with published(server) as stage:
                await stage.put(1)
                await stage.until_published(1)
                assert (await client.get(f"{GATE_PATH}/frames/1.jpg")).status_code == 200
    await reader.aclose()


async def test_a_process_that_reads_others_passes_over_what_is_forged() -> None:
    """B29: a picture that is not one of ours is not found; its neighbours are."""
    with RedisServer() as server:
        async with published(server) as stage:
            now_us = World().clock.now_us()
            times = [now_us - 1_000_000 * n for n in range(10, 0, -1)]
            await stage.put(*times)
            await stage.until_published(*times)
            keys = stage.window._redis._keys(GATE, FIRST_LIFE)
            server.cli("SET", keys.frame(times[4]), "no frame")
            world, reader = await reading(server.url)
            async with client_of(world) as client:
                found = [(await client.get(f"{GATE_PATH}/frames/{t_us}.jpg")).status_code for t_us in times]
            assert found == [200] * 4 + [404] + [200] * 5
            assert reader.refused == (("short", 1),)
            await reader.aclose()


async def test_another_process_shows_the_whole_window_and_the_pictures_that_only_the_owner_holds() -> None:
    size = stored(1, features=features_of()).size_bytes
    with RedisServer() as server:
        async with published(server, budget_bytes=4 * size) as stage:
            now_us = World().clock.now_us()
            times = [now_us - 1_000_000 * n for n in range(10, 0, -1)]
            await stage.put(*times)
            await stage.until_published(*times[-4:])
            world, reader = await reading(server.url)
            async with client_of(world) as client:
                timeline = (await client.get(f"{GATE_PATH}/timeline?last_s=600")).json()
                assert timeline["samples_total"] == 10
                assert [tier["tier"] for tier in timeline["tiers"]] == [Tier.MEMORY, Tier.REDIS]

                async def shown() -> bool:  # the owner says that it is at work within half a second
                    return (await client.get(f"{GATE_PATH}/frames/{times[0]}.jpg")).status_code == 200

                await until(shown)
            await reader.aclose()
