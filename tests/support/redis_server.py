"""A real redis-server in a process of its own, for tests. Where it is not installed the test fails; it never skips.

with RedisServer(folder) as server:
    RedisSettings(url=server.url)
    server.kill(); server.start()            # comes back on the same socket, empty
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from livelens.ports import free_port

_START_S = 20.0


class RedisServer:
    """Listens on a unix socket and on a free port of the loopback until the block ends."""

    def __init__(self, *options: str) -> None:
        """Args: options: As on redis-server's command line, such as ``"--maxmemory", "20mb"``."""
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self.port = free_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self.folder}/redis.sock"

    @property
    def tcp_url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it; return when it answers."""
        log = self.folder / "log"
        self._process = subprocess.Popen(
            [
                "redis-server",
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--unixsocket",
                "redis.sock",
                "--save",
                "",
                "--dir",
                str(self.folder),
                "--logfile",
                str(log),
                *self._options,
            ],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up = time.monotonic() + _START_S
        while "PONG" not in self.cli("PING", check=False) and "NOAUTH" not in self.cli("PING", check=False):
            if time.monotonic() > give_up or self._process.poll() is not None:
                said = log.read_text()[-2000:] if log.exists() else ""
                raise AssertionError(f"redis-server did not start: {said}")
            time.sleep(0.01)

    def cli(self, *command: str, check: bool = True) -> str:
        """Run one command by redis-cli; return what it prints."""
        done = subprocess.run(
            ["redis-cli", "-s", str(self.folder / "redis.sock"), *command],
            capture_output=True,
            text=True,
            timeout=20,
        )
        if check and (done.returncode or done.stdout.startswith(("ERR", "(error)"))):
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout.strip()

    def key_names(self) -> list[str]:
        """Return the names of all keys."""
        return sorted(self.cli("KEYS", "*").split())

    def freeze(self) -> None:
        """Stop the process in its tracks: connections stay open, nothing comes."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            (self.folder / "redis.sock").unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def fail_snapshot(server: RedisServer) -> None:
    """Make a snapshot fail, so that writes are refused from then on; ``--enable-protected-configs yes`` is needed."""
    server.cli("CONFIG", "SET", "dir", "/proc/self")
    _snapshot(server, "err")


def save_again(server: RedisServer) -> None:
    """Let a snapshot succeed, so that writes are taken again."""
    server.cli("CONFIG", "SET", "dir", str(server.folder))
    _snapshot(server, "ok")


def _snapshot(server: RedisServer, outcome: str) -> None:
    server.cli("BGSAVE")
    give_up = time.monotonic() + _START_S
    while f"rdb_last_bgsave_status:{outcome}" not in (told := server.cli("INFO", "persistence")):
        assert time.monotonic() < give_up, told
        time.sleep(0.01)


_shared: dict[int, RedisServer] = {}


def shared_server() -> RedisServer:
    """Return the server of this test process, emptied. It ends with the process."""
    import atexit

    server = _shared.get(os.getpid())
    if server is None:
        server = RedisServer()
        server.start()
        _shared[os.getpid()] = server
        atexit.register(server.__exit__, None, None, None)
    server.cli("FLUSHALL")
    return server
