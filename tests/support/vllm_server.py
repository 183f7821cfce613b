"""A real vLLM (CPU build, in ``.venv-vllm``) with the built-in model, for tests. ``make vllm-env`` installs it.

One of your own, 30 to 90 s until it answers (mark such tests ``slow`` and give them a ``timeout``):

    with RedisServer() as redis, VllmServer(redis_url=redis.tcp_url) as vllm:
        vllm.url                                  # http://127.0.0.1:PORT, without /v1; model name "builtin"
        vllm.counter("vllm:prompt_tokens_total")  # its own metrics
        vllm.kill(); vllm.start()                 # comes back on the same port

Shared by all tests of a run: ``tests/support/vllm_shared.py``.

It computes in float32, so that texts can be compared; frames by id need ``featcache`` to publish them in that Redis.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2
import psutil

from livelens.decoder_command import router_command
from livelens.decoder_profile import DecoderProfile, Instance
from livelens.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
ROUTER = ROOT / ".venv-router" / "bin" / "vllm-router"

_START_S = 600.0
_STOP_S = 30.0
_LONGEST_LIFE_S = 3_000


class _Server(ABC):
    """One program on a free port, with a folder of its own for what it writes; with what it starts, it ends."""

    def __init__(self, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    def _environment(self) -> Mapping[str, str]:
        return os.environ

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Return the process id; what it has started is below it."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """Return what it has written so far."""
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def begin(self) -> None:
        """Start it without waiting; ``wait_ready`` waits."""
        command = self._command()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["timeout", "--foreground", "-k", "30", str(_LONGEST_LIFE_S), *command],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_ready(self) -> None:
        """Return once it answers; fail with its log if it does not."""
        give_up = time.monotonic() + _START_S
        with httpx2.Client(timeout=5, trust_env=False) as client:
            while True:
                with suppress(httpx2.TransportError):
                    if client.get(f"{self.url}/health").status_code == 200:
                        return
                ended = self._process is None or self._process.poll() is not None
                if ended or time.monotonic() > give_up:
                    why = "it ended" if ended else "no answer"
                    raise AssertionError(f"{why} at {self.url}:\n{self.log[-6000:]}")
                time.sleep(0.1)

    def start(self) -> None:
        """Start it; return when it answers."""
        self.begin()
        self.wait_ready()

    def kill(self) -> None:
        """End it and all its processes at once, as a power cut would."""
        if self._process is not None:
            kill_family(self._process.pid)
            self._process.wait()
            self._process = None

    @contextmanager
    def begun(self) -> Iterator[Self]:
        """Have it run for the length of the block; it may not be ready yet."""
        try:
            self.begin()
            yield self
        finally:
            self.__exit__(None, None, None)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class VllmServer(_Server):
    """One ``livelens decoder`` on free ports, from a profile written for it."""

    def __init__(
        self,
        role: str = "both",
        *,
        redis_url: str = "",
        model: str = "builtin",
        dtype: str = "float32",
        profile: str = "",
        arguments: Sequence[str] = (),
        threads: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Args:
        role: both, prefill or decode.
        profile: More lines for the top of the profile (TOML).
        arguments: More of vLLM's own arguments.
        threads: Threads that compute.
        environment: More of its environment.
        """
        super().__init__("vllm")
        self.channel_port = free_port()
        self._role = role
        self._more = dict(environment or {})
        self._seen: list[psutil.Process] = []
        (self.folder / "decoder.toml").write_text(
            f"model = {json.dumps(model)}\ndtype = {json.dumps(dtype)}\npython = {json.dumps(str(PYTHON))}\n"
            f"arguments = {json.dumps(list(arguments))}\n{profile}\n"
            f"[redis]\nurl = {json.dumps(redis_url)}\n"
            f"[{role}]\nport = {self.port}\nside_channel_port = {self.channel_port}\nthreads = {threads}\n"
        )

    def _command(self) -> Sequence[str]:
        assert PYTHON.exists(), "there is no .venv-vllm; run: make vllm-env"
        profile = str(self.folder / "decoder.toml")
        return (sys.executable, "-m", "livelens", "decoder", "--role", self._role, "--profile", profile)

    def _environment(self) -> Mapping[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith("LIVELENS_")} | self._more

    def stop(self) -> int:
        """Ask it to end, as a service manager would; return its exit code."""
        return self._end(signal.SIGTERM)

    def wait_ended(self, within_s: float) -> int:
        """Return its exit code once it has ended by itself."""
        assert self._process is not None
        code = self._process.wait(within_s)
        self._process = None
        return code

    def survivors(self) -> list[str]:
        """Return the processes below it that have not ended with it, of those that ``engine_pid`` saw."""
        _, alive = psutil.wait_procs(self._seen, timeout=10)
        return [" ".join(process.cmdline()) for process in alive]

    def engine_pid(self) -> int:
        """Return the process id of vLLM's engine, to kill or freeze it alone."""
        self._seen = _family(self.pid)
        return engine_of(self._seen).pid

    def counter(self, name: str) -> float:
        """Return the sum of a metric over its labels, such as ``vllm:prefix_cache_hits_total``."""
        return counter(self.url, name)

    def _end(self, how: signal.Signals) -> int:
        process = self._process
        if process is None:
            return 0
        process.send_signal(how)
        try:
            code = process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the decoder did not end:\n{self.log[-3000:]}") from None
        self._process = None
        return code


class RouterServer(_Server):
    """``vllm-router`` before a prefill and a decode instance that run already."""

    def __init__(self, prefill_url: str, decode_url: str) -> None:
        super().__init__("router")
        self._urls = (prefill_url, decode_url)

    def _command(self) -> Sequence[str]:
        ports = [int(url.rpartition(":")[2]) for url in self._urls]
        profile = DecoderProfile(
            prefill=Instance(port=ports[0], side_channel_port=1),
            decode=Instance(port=ports[1], side_channel_port=2),
        )
        return router_command(ROUTER, profile, port=self.port, prometheus_port=free_port())


def engine_of(family: Sequence[psutil.Process]) -> psutil.Process:
    """Return vLLM's engine among the processes below one that was started; fails where there is none."""
    for process in family:
        with suppress(psutil.Error):
            if "EngineCore" in " ".join([process.name(), *process.cmdline()]):
                return process
    raise AssertionError("there is no engine process")


def under_way(url: str) -> int:
    """Return how many requests vLLM works on or holds back."""
    return int(counter(url, "vllm:num_requests_running") + counter(url, "vllm:num_requests_waiting"))


def counter(url: str, name: str) -> float:
    """Return the sum of one of vLLM's metrics over its labels."""
    with httpx2.Client(timeout=20, trust_env=False) as client:
        text = client.get(f"{url}/metrics").text
    return sum(map(float, re.findall(rf"^{re.escape(name)}(?:{{.*}})? (\S+)$", text, re.MULTILINE)))


def kill_family(pid: int) -> None:
    """Kill a process that we started, and all below it."""
    for each in (pid, *(process.pid for process in _family(pid))):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []
