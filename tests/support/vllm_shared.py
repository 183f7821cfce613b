"""Real vLLM instances that all tests of a run share, over all pytest workers. Each starts with the first that asks.

    whole = shared_vllm()     # .url: one instance, no /v1; .redis_url: the Redis its connector reads: publish there
    split = shared_split()    # .url: the router before a prefill and a decode instance; .redis_url the same

    async with showing_pictures(): ...    # by pixels or inline: vLLM's encoder step works, others may count that
    async with undisturbed(): ...         # nobody shows pictures meanwhile

The model is called "builtin" and computes in float32. Never stop, freeze or flush a shared part; use camera ids of
your own. A start takes 30 to 90 s (mark tests ``slow``, ``timeout`` 400). They end with the last worker that used them.
"""

import asyncio
import atexit
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.support.redis_server import RedisServer
from tests.support.vllm_server import RouterServer, VllmServer, kill_family

Json = dict[str, Any]

_started: list[object] = []  # what this worker started lives on, so that nobody calls it forgotten


@dataclass(frozen=True, slots=True)
class Served:
    """Where a shared decoder is, and the Redis that it reads frames from.

    Attributes:
        url: Where questions go.
        engine_urls: Where the instances tell of themselves (``/metrics``): the whole one, or prefill and decode.
    """

    url: str
    redis_url: str
    engine_urls: tuple[str, ...]


def shared_vllm() -> Served:
    """Return the whole instance of this test run."""
    with _run() as parts:
        redis_url = _redis(parts)
        if "whole" not in parts:
            server = VllmServer(redis_url=redis_url)
            with _or_ended(server):
                server.start()
            parts["whole"] = _entry(server.pid, server.folder, url=server.url)
        url = parts["whole"]["url"]
    return Served(url, redis_url, (url,))


def shared_split() -> Served:
    """Return the router before the prefill and decode instances of this test run."""
    with _run() as parts:
        redis_url = _redis(parts)
        if "router" not in parts:
            halves = [VllmServer(role, redis_url=redis_url) for role in ("prefill", "decode")]
            router = RouterServer(*(half.url for half in halves))
            with _or_ended(*halves, router):
                for half in halves:
                    half.begin()
                for half in halves:
                    half.wait_ready()
                router.start()
            for name, half in zip(("prefill", "decode"), halves, strict=True):
                parts[name] = _entry(half.pid, half.folder, url=half.url)
            parts["router"] = _entry(router.pid, router.folder, url=router.url)
        url, *engines = (parts[name]["url"] for name in ("router", "prefill", "decode"))
    return Served(url, redis_url, tuple(engines))


@asynccontextmanager
async def showing_pictures() -> AsyncIterator[None]:
    """Hold while vLLM is shown pictures, or features inline; waits while somebody counts what it encodes."""
    async with _turn(fcntl.LOCK_SH):
        yield


@asynccontextmanager
async def undisturbed() -> AsyncIterator[None]:
    """Hold while what the shared instances encode is counted; nobody else shows them pictures meanwhile."""
    async with _turn(fcntl.LOCK_EX):
        yield


@asynccontextmanager
async def _turn(kind: int) -> AsyncIterator[None]:
    folder = _folder()
    folder.mkdir(exist_ok=True)
    with (folder / "pictures").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.05)
        yield


def _redis(parts: Json) -> str:
    if "redis" not in parts:
        server = RedisServer()
        _started.append(server)
        server.start()
        pid = next(
            int(line[11:]) for line in server.cli("INFO", "server").split("\n") if line[:11] == "process_id:"
        )
        parts["redis"] = _entry(pid, server.folder, url=server.tcp_url)
    url: str = parts["redis"]["url"]
    return url


@contextmanager
def _or_ended(*parts: VllmServer | RouterServer) -> Iterator[None]:
    """End parts whose start fails; keep the others, so that nobody calls their processes forgotten."""
    _started.extend(parts)
    try:
        yield
    except BaseException:
        for part in parts:
            part.kill()
            shutil.rmtree(part.folder, ignore_errors=True)
        raise


def _entry(pid: int, folder: Path, *, url: str) -> Json:
    return {"pid": pid, "born": psutil.Process(pid).create_time(), "folder": str(folder), "url": url}


def _folder() -> Path:
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"process-{os.getpid()}"
    return Path(tempfile.gettempdir()) / f"livelens-vllm-{run}"


@contextmanager
def _locked() -> Iterator[Json]:
    """Hold the run's state; what is changed in it is kept, also where a start failed."""
    folder = _folder()
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = folder / "state.json"
        state: Json = json.loads(file.read_text()) if file.exists() else {"users": [], "parts": {}}
        try:
            yield state
        finally:
            file.write_text(json.dumps(state))


@contextmanager
def _run() -> Iterator[Json]:
    with _locked() as state:
        if os.getpid() not in state["users"]:
            state["users"].append(os.getpid())
            atexit.register(_leave)
        yield state["parts"]


def _leave() -> None:
    """Say that this worker is done; the last one ends all parts."""
    with _locked() as state:
        state["users"] = [pid for pid in state["users"] if pid != os.getpid() and psutil.pid_exists(pid)]
        if state["users"]:
            return
        for part in state["parts"].values():
            if psutil.pid_exists(part["pid"]) and psutil.Process(part["pid"]).create_time() == part["born"]:
                kill_family(part["pid"])
            shutil.rmtree(part["folder"], ignore_errors=True)
    shutil.rmtree(_folder(), ignore_errors=True)
