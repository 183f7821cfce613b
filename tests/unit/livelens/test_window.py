"""The window of a process: a pool alone, or one that is published to the Redis that the settings name."""

import asyncio
import importlib.util
from pathlib import Path

import httpx2
import pytest

from core.clock import ServiceClock
from core.meter import NullMeter, TallyMeter
from featcache import MemoryPool
from featcache import Settings as WindowSettings
from featcache.errors import PagesRefused
from featcache.redis_reader import RedisReader
from featcache.redis_settings import RedisSettings
from ingest import IngestSettings
from livelens.errors import WrongSetting
from livelens.first_cameras import named_camera, register
from livelens.serve import running_service
from livelens.settings import Settings
from livelens.window import check_ingest, for_ever, open_window
from tests.support.published import EVER, until
from tests.support.redis_server import RedisServer
from tests.support.roads import UTC, moving_clip
from web import listen


async def test_without_an_address_the_pool_is_all_and_nothing_is_told_of_redis() -> None:
    async with open_window(Settings(), clock=ServiceClock(), meter=NullMeter()) as opened:
        assert isinstance(opened.window, MemoryPool)
        assert (opened.work(), opened.parts(), opened.details()) == ((), {}, {})


@pytest.mark.torch
async def test_memory_of_a_device_is_taken_where_the_settings_ask_for_it() -> None:
    settings = Settings(window=WindowSettings(gpu_budget_bytes=1 << 20, gpu_device="cpu"))
    async with open_window(settings, clock=ServiceClock(), meter=NullMeter()) as opened:
        assert isinstance(opened.window, MemoryPool)
        assert opened.window.statistics().gpu_budget_bytes == 1 << 20


@pytest.mark.parametrize(
    ("budget_bytes", "device", "line"),
    [
        (1 << 20, "cuda:63", r"^window\.gpu_device = 'cuda:63': there is no such device; there is cpu"),
        (1 << 60, "cpu", r"^window\.gpu_budget_bytes = 1152921504606846976: cpu has \d+ bytes of memory"),
    ],
)
@pytest.mark.torch
async def test_a_device_that_cannot_be_had_stops_the_start_in_one_line(
    budget_bytes: int, device: str, line: str
) -> None:
    settings = Settings(window=WindowSettings(gpu_budget_bytes=budget_bytes, gpu_device=device))
    with pytest.raises(PagesRefused, match=line) as caught:
        async with open_window(settings, clock=ServiceClock(), meter=NullMeter()):
            pass
    assert "\n" not in str(caught.value)


async def test_a_named_redis_without_its_client_stops_the_start_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "redis" else find(name))
    settings = Settings(redis=RedisSettings(url="unix:///nowhere"))
    with pytest.raises(WrongSetting, match=r"redis\.url is set: the extra 'redis' is not installed"):
        async with open_window(settings, clock=ServiceClock(), meter=NullMeter()):
            pass


@pytest.mark.logs_errors
async def test_work_that_fails_for_a_reason_nobody_foresaw_is_done_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("livelens.window.RESTART_PAUSE_S", 0.0)
    runs = 0
    again = asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            again.set()
        raise ValueError("never seen before")

    task = asyncio.create_task(for_ever(work))
    async with asyncio.timeout(5):
        await again.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_service_whose_redis_is_away_starts_says_so_and_publishes_when_it_comes(
    tmp_path: Path,
) -> None:
    server = RedisServer()
    settings = Settings(
        data_dir=tmp_path / "state", port=0, model="none", redis=RedisSettings(url=server.url)
    )
    async with running_service(settings, UTC) as service, asyncio.timeout(60):
        listener = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        serving = asyncio.create_task(service.server.serve(sockets=[listener]))
        await register(
            service.cameras, named_camera(f"gate={moving_clip(tmp_path)}", UTC, 0, feeds=service.feeds)
        )
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:

            async def redis_said() -> tuple[int, bool, str]:
                reply = await client.get("/readyz")
                told = reply.json()
                return reply.status_code, told["parts"]["redis"], told["details"]["redis"]

            async def is_away() -> bool:
                return await redis_said() == (
                    200,
                    False,
                    "degraded: Redis cannot be reached; the pool serves meanwhile",
                )

            async def is_up() -> bool:
                return (await redis_said())[:2] == (200, True)

            async def in_redis() -> bool:
                timeline = (await client.get("/api/v1/cameras/gate/timeline?last_s=600")).json()
                return {tier["tier"] for tier in timeline["tiers"]} == {"redis"}

            await until(is_away, within_s=20)
            with server:
                await until(is_up, within_s=20)
                await until(in_redis, within_s=20)
                reader = RedisReader(settings.redis, meter=TallyMeter())
                (camera,) = service.cameras.list()
                listed = (await client.get("/api/v1/cameras/gate/frames?last_s=600")).json()["frames"]
                there = {info.ref for info in await reader.index(camera.id, EVER)}
                assert {frame["ref"] for frame in listed[:-2]} <= there  # the newest may be on their way
                metrics = (await client.get("/metrics")).text
                assert "livelens_redis_up 1.0" in metrics
                assert 'livelens_window_frames{tier="redis"}' in metrics
                assert "livelens_redis_clock_offset_seconds" in metrics
                gone = (await client.delete("/api/v1/cameras/gate")).json()["deleted_frames"]
                assert gone >= len(listed) > 0
                assert not [key for key in server.key_names() if "gate" in key]
                await reader.aclose()
            await until(is_away, within_s=20)
        service.server.should_exit = True
        await serving


WITHOUT_INGEST = Settings(redis=RedisSettings(url="unix:///nowhere"), ingest=IngestSettings(enabled=False))


def test_with_ingest_nothing_is_needed() -> None:
    check_ingest(Settings(), takes_cameras=True)


def test_without_ingest_there_must_be_a_redis_to_answer_from() -> None:
    settings = Settings(ingest=IngestSettings(enabled=False))
    with pytest.raises(WrongSetting, match=r"^redis\.url is empty: .*allowed are redis://"):
        check_ingest(settings, takes_cameras=False)


def test_without_ingest_no_camera_can_be_named() -> None:
    with pytest.raises(WrongSetting, match=r"^ingest\.enabled = false: "):
        check_ingest(WITHOUT_INGEST, takes_cameras=True)


def test_without_ingest_the_client_of_redis_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "redis" else find(name))
    with pytest.raises(WrongSetting, match="the extra 'redis' is not installed"):
        check_ingest(WITHOUT_INGEST, takes_cameras=False)
