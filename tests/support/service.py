"""The real command ``livelens`` in a process of its own, for end-to-end tests and benchmarks.

    async with LivelensProcess(["serve", "--camera", "gate=rtsp://…"]) as service:
        service.get("/api/v1/cameras")

Each has its own state folder and a free port, and is ended with its block.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
import psutil

ROOT = Path(__file__).resolve().parents[2]
_START_S = 60.0
_STOP_S = 15.0
Json = dict[str, Any]


class ServiceFailed(Exception):
    """The service did not come up, or did not end."""


class LivelensProcess:
    """Runs ``livelens`` with the given words; ``--port 0`` and ``--no-browser`` are added.

    Without ``data_dir`` the service keeps its state in a temporary folder (``--isolate``).

    Args:
        model: Who answers where ``words`` and ``settings`` name nobody. By default nobody, so that tests of other
            things start in 2 s and not in 5; None is a plain start.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        data_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        port: int = 0,
        model: str | None = "none",
    ) -> None:
        self._words = [*words, "--port", str(port), "--no-browser"]
        if model is not None and "--model" not in words and "LIVELENS_MODEL" not in (settings or {}):
            self._words += ["--model", model]
        if data_dir is None:
            self._words.append("--isolate")
        self._env = {k: v for k, v in os.environ.items() if not k.startswith("LIVELENS_")}
        self._env |= {"PYTHONUNBUFFERED": "1", "TZ": "UTC", **(settings or {})}
        if data_dir is not None:
            self._env["LIVELENS_DATA_DIR"] = str(data_dir)
        self._process: asyncio.subprocess.Process | None = None
        self._log: list[str] = []
        self._reader: asyncio.Task[None] | None = None
        self.url = ""

    @property
    def pid(self) -> int:
        """Return the process id."""
        assert self._process is not None
        return self._process.pid

    def open_files(self) -> int:
        """Return how many descriptors are open, without those of the database, whose pool grows with use."""
        process = psutil.Process(self.pid)
        ours = sum("livelens.db" in file.path for file in process.open_files())
        return process.num_fds() - ours

    @property
    def log(self) -> str:
        """Return what it has written to standard error so far."""
        return "".join(self._log)

    async def start(self) -> None:
        """Start it and return once it is ready for questions."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "livelens",
            *self._words,
            env=self._env,
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._drain(), name="livelens:stderr")
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_S):
                while b"http://" not in (line := await self._process.stdout.readline()):
                    if not line:
                        raise ServiceFailed(f"livelens ended before it was ready:\n{self.log}")
        except (TimeoutError, ServiceFailed) as error:
            await self.kill()
            raise ServiceFailed(f"livelens did not start:\n{self.log}") from error
        self.url = line.decode().split()[-1].partition("#")[0].rstrip("/")

    async def stop(self) -> int:
        """Ask it to end as a service manager would, and return its exit code."""
        return await self._end(signal.SIGTERM)

    async def kill(self) -> int:
        """End it at once."""
        return await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.returncode is None:
            process.send_signal(how)
        try:
            async with asyncio.timeout(_STOP_S):
                code = await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ServiceFailed(f"livelens did not end within {_STOP_S} s:\n{self.log}") from None
        finally:
            if self._reader is not None:
                await self._reader
        return code

    async def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._log.append(line.decode(errors="replace"))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # -- a program's view of it

    def call(self, method: str, path: str, body: Json | None = None) -> httpx2.Response:
        """Send one request; ``path`` is below the service's address."""
        with httpx2.Client(base_url=self.url, timeout=20, trust_env=False) as client:
            return client.request(method, path, json=body)

    def get(self, path: str) -> Json:
        """Return one JSON reply."""
        reply = self.call("GET", path)
        assert reply.status_code == 200, reply.text
        found: Json = reply.json()
        return found

    def counted(self, metric: str) -> int:
        """Return the sum of a counter over its labels."""
        text = self.call("GET", "/metrics").text
        return round(sum(map(float, re.findall(rf"^{metric}(?:{{.*}})? (\S+)$", text, re.MULTILINE))))

    def camera(self, camera_id: str) -> Json:
        """Return one camera as the API shows it."""
        return self.get(f"/api/v1/cameras/{camera_id}")

    async def until(self, what: str, holds: Callable[[], bool], *, within_s: float = 30.0) -> None:
        """Wait until ``holds()``; fail with the service's log if it never does."""
        try:
            async with asyncio.timeout(within_s):
                while not await asyncio.to_thread(holds):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"not within {within_s} s: {what}\n{self.log[-4000:]}") from None

    async def until_state(self, camera_id: str, *states: str, within_s: float = 30.0) -> None:
        """Wait until a camera is in one of these states."""
        await self.until(
            f"{camera_id} is {' or '.join(states)}",
            lambda: self.camera(camera_id)["state"]["state"] in states,
            within_s=within_s,
        )
