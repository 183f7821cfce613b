"""The processes of a running ``livelens up``, for tests that kill them.

async with LivelensProcess(["up", "--demo"]) as up:
    part(up, "redis").kill()
    await answered(up)
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import httpx2
import psutil

from livelens.first_cameras import DEMO_CAMERA
from tests.support.asking import ask
from tests.support.service import LivelensProcess

NOW = {"cameras": [DEMO_CAMERA], "text": "what happened?", "window": {"last_s": 10}}

_MARKS: dict[str, Callable[[Sequence[str]], bool]] = {
    "redis": lambda words: "redis-server" in words[0],
    "serve": lambda words: "livelens" in words,
    "vllm": lambda words: "vllm.entrypoints.openai.api_server" in words,
    "prefill": lambda words: "vllm.entrypoints.openai.api_server" in words and "throughput" in words,
    "decode": lambda words: "vllm.entrypoints.openai.api_server" in words and "interactivity" in words,
    "router": lambda words: "--vllm-pd-disaggregation" in words,
}
"""How the command line of a part is told from those of the others."""


def part(up: LivelensProcess, name: str) -> psutil.Process | None:
    """Return the process of a part; None while there is none."""
    for process in psutil.Process(up.pid).children(recursive=True):
        with suppress(psutil.Error):
            if _MARKS[name](process.cmdline() or [""]) and running([process]):
                return process
    return None


def another(up: LivelensProcess, name: str, before: psutil.Process) -> bool:
    """Return whether a part runs in another process than before."""
    now = part(up, name)
    return now is not None and now != before


def running(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Return those of some processes that have not ended."""
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


def ready(up: LivelensProcess) -> bool:
    """Return whether the service says that it is ready."""
    try:
        return up.call("GET", "/readyz").status_code == 200
    except httpx2.HTTPError:
        return False
