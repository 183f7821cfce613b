"""``livelens up --split`` with nothing but real parts: Redis, the service, two vLLM and the router before them."""

import asyncio
import time

import psutil
import pytest

from tests.support.asking import ask
from tests.support.service import LivelensProcess
from tests.support.up_processes import NOW, answered, part, running
from tests.support.vllm_server import counter, engine_of, under_way

pytestmark = [pytest.mark.slow, pytest.mark.torch, pytest.mark.timeout(900)]

LOADED = "vllm:livelens_frames_loaded_total"
ENCODED = "vllm:livelens_pictures_encoded_total"
TRANSFERS = "vllm:nixl_xfer_time_seconds_count"
START_S = 300.0
FLYING = 8
DEGRADED_WITHIN_S = 5.0
ENDED_WITHIN_S = 30.0
"""On a quiet machine it is less than 5 s; beside other tests vLLM takes longer to see that its engine is dead."""


async def test_the_whole_road_apart_answers_from_the_window_and_comes_back_when_an_engine_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.service._START_S", START_S)
    monkeypatch.setattr("tests.support.service._STOP_S", 60.0)
    async with LivelensProcess(["up", "--split", "--demo", "--model", "builtin"]) as up:
        await answered(up, by="measured", within_s=60)  # the page is there long before the model
        done = await answered(up, by="builtin", within_s=START_S)
        assert done["frames_encoded_now"] == 0
        assert done["frames_used"] > 0
        prefill, decode = (address(up, name) for name in ("prefill", "decode"))
        assert counter(prefill, LOADED) >= done["frames_used"]
        assert counter(decode, TRANSFERS) > 0
        assert counter(prefill, ENCODED) == counter(decode, ENCODED) == 0

        half = part(up, "decode")
        assert half is not None
        family = half.children(recursive=True)
        flying = [asyncio.create_task(ask(up.url, NOW)) for _ in range(FLYING)]
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(under_way, decode):
                await asyncio.sleep(0)
        engine_of(family).kill()
        async with asyncio.timeout(ENDED_WITHIN_S):
            ends = [heard.done["outcome"] for heard in await asyncio.gather(*flying)]
        print(f"answers under way at the kill: {ends}")
        assert set(ends) <= {"ok", "shortened"}
        await degraded(up)
        gone = "what the half had started is gone"
        await up.until(gone, lambda: running([half, *family]) == [], within_s=60)
        await answered(up, by="builtin", within_s=START_S)

        parts = psutil.Process(up.pid).children(recursive=True)
        assert await up.stop() == 0
    assert running(parts) == []


async def degraded(up: LivelensProcess) -> None:
    """Ask until the answer is measured; each answer comes soon, and a chat is told when to try again."""
    model = "builtin"
    while model != "measured":
        began_s = time.monotonic()
        heard = await ask(up.url, NOW, within_s=DEGRADED_WITHIN_S)
        print(f"after the kill: {heard.done.get('model')} in {time.monotonic() - began_s:.2f} s")
        assert heard.done["outcome"] in ("ok", "shortened"), heard
        model = heard.done["model"]
    assert heard.done["notice"]
    chat = {"model": "builtin", "messages": [{"role": "user", "content": "Hello?"}]}
    began_s = time.monotonic()
    refused = await asyncio.to_thread(up.call, "POST", "/v1/chat/completions", chat)
    if refused.status_code == 503:  # else the half is back already
        assert int(refused.headers["retry-after"]) > 0
    assert time.monotonic() - began_s < DEGRADED_WITHIN_S


def address(up: LivelensProcess, name: str) -> str:
    """Return where an instance listens, by its command line."""
    process = part(up, name)
    assert process is not None
    words = process.cmdline()
    return f"http://127.0.0.1:{words[words.index('--port') + 1]}"
