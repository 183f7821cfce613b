"""``livelens up`` as a newcomer runs it: the parts are real, and are killed while it runs; ``test_vllm_up.py`` has a real vLLM."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from livelens.ports import free_port
from tests.support.asking import ask
from tests.support.service import LivelensProcess, ServiceFailed
from tests.support.up_processes import NOW, another, answered, part, ready, running
from tests.support.vllm_standin import standin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


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
