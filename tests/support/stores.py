"""Rows for tests of durable state, and a real PostgreSQL server in a process of its own."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg

from core.cameras import Camera, Credentials, Source, Transport
from core.ids import CameraId, ConversationId, Incarnation
from core.spans import Span
from livelens.ports import free_port
from store import StoredTurn

GATE = CameraId("gate")
YARD = CameraId("yard")
TALK = ConversationId("conv_1")
NOON_US = 1_700_000_000_000_000
SECRET = "s3cret-päss %:@/"


def camera_of(camera_id: CameraId = GATE, *, name: str = "Gate", password: str | None = SECRET) -> Camera:
    """Return a camera that uses every field."""
    login = None if password is None else Credentials("admin", password)
    return Camera(
        camera_id,
        name,
        Source("rtsp://10.0.0.5:554/main?x=1", login, Transport.UDP, loop=False),
        ZoneInfo("Europe/Berlin"),
        Incarnation("life1"),
        NOON_US,
        enabled=False,
    )


def turn_of(
    number: int = 0,
    *,
    conversation: ConversationId = TALK,
    cameras: tuple[CameraId, ...] = (GATE,),
    question: str | None = None,
    answer: str = "A white van stopped.",
    span: Span | None = Span(NOON_US, NOON_US + 1),  # noqa: B008 - a frozen value
) -> StoredTurn:
    """Return a turn whose question tells its number."""
    question = question if question is not None else f"what happened? ({number})"
    return StoredTurn(conversation, cameras, question, answer, span, "measured", NOON_US + number)


class PostgresServer:
    """A running server. Every database it makes is empty and stays until the server ends."""

    def __init__(self, control: list[str], start: list[str], port: int) -> None:
        self._control = control
        self._start = start
        self._port = port
        self._made = 0

    def start(self) -> None:
        """Start it, or start it again on the same port with the same databases."""
        _run([*self._control, *self._start, "start"])

    def stop(self) -> None:
        """Stop it at once, cutting every connection."""
        _run([*self._control, "-m", "immediate", "stop"])

    def new_database(self) -> str:
        """Make one more database and return its URL."""
        self._made += 1
        name = f"livelens{self._made}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # a name cannot be a parameter; this one is ours
        return self._url(name)

    def _url(self, name: str) -> str:
        return f"postgresql://livelens@127.0.0.1:{self._port}/{name}"


@contextlib.contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run PostgreSQL on a free port of the loopback. Fails where it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    assert found, "Debian's postgresql is not installed"
    folder = Path(tempfile.mkdtemp(prefix="livelens-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_user = ["runuser", "-u", "postgres", "--"]
    port = free_port()
    data = str(folder / "data")
    options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"  # else it syncs every file as it recovers
    control = [*as_user, str(found[-1]), "-D", data, "-w"]
    try:
        initdb = [*as_user, str(found[-1].with_name("initdb")), "-D", data]
        _run([*initdb, "-U", "livelens", "-A", "trust", "-E", "UTF8", "--no-sync"])
        server = PostgresServer(control, ["-l", str(folder / "log"), "-o", options], port)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: list[str]) -> None:
    # The server inherits its starter's output and outlives it, so that a pipe would never end.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(command, cwd="/", stdout=said, stderr=said, timeout=60, check=False)
        said.seek(0)
        assert done.returncode == 0, f"{command}: {said.read().decode(errors='replace')}"
