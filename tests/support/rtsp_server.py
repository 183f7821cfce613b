"""A real RTSP server in a process of its own, for tests.

    async with RtspServer({"cam": Mount([clip])}) as server:
        read(server.url("cam"))
        server.kill(); await server.start()      # comes back on the same port

The server is GStreamer's, under Debian's own Python. Where it is not installed the test fails; it never skips.
"""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_PYTHON = "/usr/bin/python3"
_SCRIPT = Path(__file__).with_name("rtsp_camera.py")
_START_S = 20.0


class ServerFailed(Exception):
    """The RTSP server could not be started."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What one address plays.

    Attributes:
        clips: Played in a row, looped, times going on; all of one codec. Sizes may differ.
        audio: A tone as the first track, before the video.
        application: A metadata track before all others.
        report: Places of coded pictures in the first clip whose sending ``RtspServer.sent`` tells.
    """

    clips: Sequence[Path] = ()
    audio: bool = False
    application: bool = False
    report: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """A coded picture of a mount's first clip: its place there, its time within that clip, and when it was sent."""

    place: int
    offset_us: int
    wall_us: int


class RtspServer:
    """Serves mounts on a free port of the loopback until the block ends."""

    def __init__(
        self,
        mounts: Mapping[str, Mount],
        *,
        login: tuple[str, str] | None = None,
        digest: bool = False,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        """Args:
        login: Name and password asked for, by Basic, or by Digest where ``digest`` is set.
        tls: Certificate and key; the addresses then begin with ``rtsps``.
        """
        self.port = 0
        self._login = login
        self._digest = digest
        self._tls = tls
        self._mounts = {
            name: {
                "clips": [str(Path(clip).resolve()) for clip in mount.clips],
                "audio": mount.audio,
                "application": mount.application,
                "report": list(mount.report),
            }
            for name, mount in mounts.items()
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def url(self, mount: str, *, port: int | None = None) -> str:
        """Return the address of a mount, without name and password."""
        return f"{'rtsp' if self._tls is None else 'rtsps'}://127.0.0.1:{port or self.port}/{mount}"

    async def start(self) -> None:
        """Start it, on the port it had before if it had one; return when it listens."""
        spec = {
            "port": self.port,
            "mounts": self._mounts,
            "login": self._login,
            "digest": self._digest,
            "tls": self._tls and [str(path) for path in self._tls],
        }
        self._process = subprocess.Popen(
            [_PYTHON, str(_SCRIPT), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/tmp"), "GST_DEBUG": "0"},
        )
        line = await self._first_line(self._process)
        if not line.startswith(b"ready "):
            self._process.kill()
            _, complaint = self._process.communicate()
            self._process = None
            raise ServerFailed((line + complaint).decode(errors="replace")[-2000:])
        self.port = int(line.split()[1])

    def sent(self) -> list[Sent]:
        """Return the reported pictures sent since the last call, those about to be sent included."""
        process = self._running()
        assert process.stdout is not None
        *lines, self._unread = (self._unread + (process.stdout.read() or b"")).split(b"\n")
        return [Sent(*map(int, line.split()[1:])) for line in lines if line.startswith(b"sent ")]

    def kick(self) -> None:
        """Drop every client's connection; the server goes on."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(b"kick\n")
        process.stdin.flush()

    def freeze(self) -> None:
        """Stop the process in its tracks: connections stay open, nothing comes."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._running().send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.communicate()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServerFailed("the server is not running")
        return self._process

    async def _first_line(self, process: subprocess.Popen[bytes]) -> bytes:
        """Read without a thread, so that tests may count threads."""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        line = b""
        async with asyncio.timeout(_START_S):
            while not line.endswith(b"\n") and process.poll() is None:
                line += process.stdout.read() or b""
                await asyncio.sleep(0.01)
        return line


def certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """Write a self-signed certificate made out to ``host``, and its key; return both files."""
    own, key = folder / "own.pem", folder / "key.pem"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    subprocess.run(
        ["openssl", "req", *kind, *names, "-keyout", str(key), "-out", str(own)],
        check=True,
        capture_output=True,
    )
    return own, key
