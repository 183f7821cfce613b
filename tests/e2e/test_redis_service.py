"""The whole service with Redis, over HTTP: killed in mid-stream and back, and other processes that read its window."""

import asyncio
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from core.ids import FrameRef
from core.meter import NullMeter
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from featcache.window import Tier
from livelens.ports import free_port
from tests.support.asking import ask
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.published import published, until
from tests.support.redis_server import RedisServer
from tests.support.service import LivelensProcess
from tests.support.web_fakes import World
from tests.support.windows import GATE, features_of, stored

GATE_PATH = "/api/v1/cameras/gate"


@pytest.mark.slow
async def test_redis_killed_in_mid_stream_is_not_felt_and_filled_again(tmp_path: Path) -> None:
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
            during = await ask(service.url, {"cameras": ["gate"], "text": "what is happening now?"})
            assert during.done["outcome"] == "ok"
            kept = [frame["ref"] for frame in service.get(f"{GATE_PATH}/frames?last_s=600")["frames"]]
            server.start()
            await service.until("all is back", lambda: redis_up() and tiers() == {"redis"}, within_s=15)
            found = await reader.fetch([FrameRef(ref) for ref in kept])
            assert [frame.ref for frame in found] == kept
            picture = service.call("GET", f"{GATE_PATH}/frames/{found[0].t_us}.jpg").content
            assert picture == found[0].jpeg
            assert service.counted("livelens_redis_outages_total") == 1
            assert service.call("DELETE", GATE_PATH).json()["deleted_frames"] >= len(kept)
            assert not [key for key in server.key_names() if "gate" in key]
            await reader.aclose()


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
    world, reader = await reading(f"redis://127.0.0.1:{free_port()}")
    async with client_of(world) as client:
        for path in ("timeline", "frames?last_s=60", "frames/1.jpg"):
            reply = await client.get(f"{GATE_PATH}/{path}")
            assert (reply.status_code, reply.json()["code"]) == (503, "window_unavailable")
            assert int(reply.headers["Retry-After"]) >= 1
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
