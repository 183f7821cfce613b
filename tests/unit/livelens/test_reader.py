"""A process that takes no cameras in: what it needs, and that it starts, says so and heals where Redis is away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from core.clock import ServiceClock
from featcache.redis_settings import RedisSettings
from ingest import IngestSettings
from livelens import reader_cameras
from livelens.errors import WrongSetting
from livelens.reader import running_reader
from livelens.serve import run_service
from livelens.settings import Settings
from tests.support.bulletins import bulletin_of
from tests.support.published import published, until
from tests.support.redis_server import RedisServer
from tests.support.roads import UTC
from tests.support.windows import features_of, stored
from web import listen

SIZE = stored(1, features=features_of()).size_bytes
SECOND_US = 1_000_000
GATE_PATH = "/api/v1/cameras/gate"


def settings_of(url: str, folder: Path) -> Settings:
    redis = RedisSettings(url=url, connect_timeout_us=300_000, reply_timeout_us=1_000_000)
    return Settings(
        data_dir=folder / "state", redis=redis, ingest=IngestSettings(enabled=False), model="none"
    )


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    """Run a reader and yield a client of it."""
    async with running_reader(settings, UTC) as service:
        listener = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        serving = asyncio.create_task(service.server.serve(sockets=[listener]))
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=20) as client:
            yield client
        service.server.should_exit = True
        await serving


async def test_a_wrong_setting_ends_the_start_before_anything_is_opened(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "state", port=0, ingest=IngestSettings(enabled=False))
    with pytest.raises(WrongSetting):
        await run_service(settings, demo=False, browser=False, isolate=False, cameras=(), announce=print)
    assert not (tmp_path / "state").exists()


async def test_leaving_the_block_leaves_no_task(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with running_reader(settings_of(f"unix://{tmp_path}/nobody", tmp_path), UTC):
        pass
    assert asyncio.all_tasks() == before


async def test_away_at_the_start_it_refuses_with_a_time_to_try_again_and_answers_when_redis_comes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reader_cameras, "LOOK_EVERY_S", 0.1)
    server = RedisServer()
    async with serving(settings_of(server.url, tmp_path)) as client:
        for method, path, body in (
            ("GET", "/api/v1/cameras", None),
            ("GET", f"{GATE_PATH}/timeline", None),
            ("POST", "/api/v1/ask", {"cameras": ["gate"], "text": "what happened?"}),
            ("POST", "/api/v1/ask", {"text": "what happened?"}),
        ):
            reply = await client.request(method, path, json=body)
            assert (reply.status_code, reply.json()["code"]) == (503, "window_unavailable"), path
            assert int(reply.headers["Retry-After"]) >= 1
        told = await client.get("/readyz")
        assert (told.status_code, told.json()["parts"]["redis"]) == (503, False)
        assert told.json()["details"]["redis"] == "Redis cannot be reached; questions are refused"
        with server:

            async def ready() -> bool:
                return (await client.get("/readyz")).status_code == 200

            await until(ready)
            assert (await client.get("/api/v1/cameras")).json() == {"cameras": []}
            assert (await client.get(GATE_PATH)).status_code == 404


async def test_it_shows_and_answers_from_what_another_process_holds_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(reader_cameras, "LOOK_EVERY_S", 0.1)
    with RedisServer() as server:
        async with published(server, budget_bytes=4 * SIZE) as stage, asyncio.TaskGroup() as group:
            bulletin = bulletin_of()
            telling = group.create_task(stage.window.tell(lambda: [bulletin]))
            now_us = ServiceClock().now_us()
            times = [now_us - n * SECOND_US for n in range(10, 0, -1)]
            await stage.put(*times)
            await stage.until_published(*times[-4:])
            async with serving(settings_of(server.url, tmp_path)) as client:

                async def listed() -> bool:
                    return bool((await client.get("/api/v1/cameras")).json()["cameras"])

                await until(listed)
                shown = (await client.get(GATE_PATH)).json()
                assert (shown["name"], shown["state"]["state"], shown["window"]["frames"]) == (
                    "Gate",
                    "online",
                    10,
                )
                timeline = (await client.get(f"{GATE_PATH}/timeline?last_s=600")).json()
                assert [tier["tier"] for tier in timeline["tiers"]] == ["memory", "redis"]
                for method, path, body in (
                    ("POST", "/api/v1/cameras", {"id": "yard", "source": {"url": "rtsp://10.0.0.6/"}}),
                    ("PATCH", GATE_PATH, {"name": "Door"}),
                    ("DELETE", GATE_PATH, None),
                    ("POST", "/api/v1/camera-probes", {"source": {"url": "rtsp://10.0.0.6/"}}),
                    ("GET", f"{GATE_PATH}/preview.mjpeg", None),
                ):
                    reply = await client.request(method, path, json=body)
                    assert (reply.status_code, reply.json()["code"]) == (409, "cameras_elsewhere"), path
                    assert reply.headers["content-type"] == "application/problem+json"
                assert (await client.get(f"{GATE_PATH}/latest.jpg")).content == b"jpeg"
                telling.cancel()
