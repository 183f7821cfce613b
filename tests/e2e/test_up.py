"""``livelens up`` as a newcomer runs it: the parts are real, and are killed while it runs."""

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from livelens.first_cameras import DEMO_CAMERA
from livelens.ports import free_port
from tests.support.asking import ask
from tests.support.service import LivelensProcess, ServiceFailed
from tests.support.vllm_standin import standin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

NOW = {"cameras": [DEMO_CAMERA], "text": "what happened?", "window": {"last_s": 10}}


def part(up: LivelensProcess, name: str) -> psutil.Process | None:
    """Return the process of a part, ``redis``, ``serve`` or ``vllm``; None while there is none."""
    for process in psutil.Process(up.pid).children(recursive=True):
        with suppress(psutil.Error):
            words = process.cmdline() or [""]
            found = {
                "redis": "redis-server" in words[0],
                "serve": "livelens" in words,
                "vllm": "vllm.entrypoints.openai.api_server" in words,
            }
            if found[name] and running([process]):
                return process
    return None


def another(up: LivelensProcess, name: str, before: psutil.Process) -> bool:
    now = part(up, name)
    return now is not None and now != before


def running(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


async def answered(up: LivelensProcess, *, by: str = "measured", within_s: float = 30) -> dict[str, Any]:
    """Ask until there is an answer by this model; return how it ended."""
    async with asyncio.timeout(within_s):
        while True:
            done = (await ask(up.url, NOW)).done
            if done.get("outcome") == "ok" and done["model"] == by:
                return done
            await asyncio.sleep(0.1)


async def test_a_part_that_is_killed_comes_back_and_the_others_stay() -> None:
    async with LivelensProcess(["up", "--demo"]) as up:
        await answered(up)
        redis, serve = part(up, "redis"), part(up, "serve")
        assert redis is not None
        assert serve is not None

        redis.kill()
        await up.until("Redis is back", lambda: another(up, "redis", redis))
        assert part(up, "serve") == serve
        await answered(up)

        serve.kill()
        await up.until("the service is back", lambda: another(up, "serve", serve))
        await up.until("it answers", lambda: ready(up))
        await answered(up)

        parts = psutil.Process(up.pid).children(recursive=True)
        assert await up.stop() == 0
    assert running(parts) == []


async def test_nothing_stays_behind_when_it_is_killed() -> None:
    async with LivelensProcess(["up", "--demo"]) as up:
        parts = psutil.Process(up.pid).children(recursive=True)
        assert len(parts) >= 2
        await up.kill()
        async with asyncio.timeout(30):
            while running(parts):
                await asyncio.sleep(0.05)


async def test_a_stop_while_it_starts_ends_it_at_once() -> None:
    up = LivelensProcess(["up", "--demo"])
    starting = asyncio.create_task(up.start())
    async with asyncio.timeout(30):
        while up._process is None or part(up, "redis") is None:
            await asyncio.sleep(0.01)
    parts = psutil.Process(up.pid).children(recursive=True)
    psutil.Process(up.pid).send_signal(signal.SIGINT)
    with pytest.raises(ServiceFailed):
        await starting
    assert running(parts) == []


@pytest.mark.torch
async def test_a_decoder_answers_from_the_window_and_measured_answers_take_its_place_while_it_is_away(
    tmp_path: Path,
) -> None:
    profile = tmp_path / "decoder.toml"
    profile.write_text(f"python = '{standin(tmp_path)}'\n[both]\nport = {free_port()}\n")
    async with LivelensProcess(["up", "--demo", "--model", "builtin", "--profile", str(profile)]) as up:
        done = await answered(up, by="builtin")
        assert done["frames_encoded_now"] == 0
        vllm = part(up, "vllm")
        assert vllm is not None
        vllm.kill()
        async with asyncio.timeout(10):
            while (await ask(up.url, NOW)).done.get("model") != "measured":
                await asyncio.sleep(0.05)
        await answered(up, by="builtin")
        assert await up.stop() == 0


@pytest.mark.torch
@pytest.mark.timeout(600)
async def test_a_real_decoder_answers_from_the_window_and_comes_back_when_it_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.service._START_S", 300.0)
    monkeypatch.setattr("tests.support.service._STOP_S", 60.0)
    async with LivelensProcess(["up", "--demo", "--model", "builtin"]) as up:
        await answered(up, by="measured")
        done = await answered(up, by="builtin", within_s=300)
        assert done["frames_encoded_now"] == 0
        assert done["frames_used"] > 0
        vllm = part(up, "vllm")
        assert vllm is not None

        engine = vllm.children(recursive=True)
        vllm.kill()
        async with asyncio.timeout(10):
            while (await ask(up.url, NOW)).done.get("model") != "measured":
                await asyncio.sleep(0.1)
        await up.until("what vLLM had started is gone", lambda: running(engine) == [])
        await answered(up, by="builtin", within_s=300)

        parts = psutil.Process(up.pid).children(recursive=True)
        assert await up.stop() == 0
    assert running(parts) == []


def ready(up: LivelensProcess) -> bool:
    try:
        return up.call("GET", "/readyz").status_code == 200
    except httpx2.HTTPError:
        return False
