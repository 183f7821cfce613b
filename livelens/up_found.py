"""What ``livelens up`` starts and this machine may lack; whatever is missing is named with the way to install it."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from livelens.doctor import LOCAL_MODEL_NEEDS

OLDEST_REDIS = 7
ROUTER_BESIDE = Path(".venv-router/bin/vllm-router")


@dataclass(frozen=True, slots=True)
class Missing:
    """A part that is not there: its name, what exactly is wrong, and what to do."""

    name: str
    why: str
    how: str

    def line(self) -> str:
        """Return it as one line."""
        return f"{self.name}: {self.why}; {self.how}"


Which = Callable[[str], str | None]
"""As ``shutil.which``."""


def find_redis_server(which: Which = shutil.which) -> Path | Missing:
    """Return the program ``redis-server``, 7 or newer, or what is wrong. Runs it to learn its version."""
    how = "install it (Debian, as root: apt-get install redis-server), or name one that runs: --redis redis://..."
    program = which("redis-server")
    if program is None:
        return Missing("redis-server", "there is no such program", how)
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Missing("redis-server", f"it does not run ({type(error).__name__})", how)
    version = redis_version(said)
    if version is None or version < OLDEST_REDIS:
        return Missing(
            "redis-server", f"version {OLDEST_REDIS} or newer is needed, {program} is another", how
        )
    return Path(program)


def redis_version(said: str) -> int | None:
    """Return the first number of the version that ``redis-server --version`` (or Valkey's) tells."""
    found = re.search(r"\bv=(\d+)\.", said)
    return int(found[1]) if found else None


def find_router(which: Which = shutil.which, *, beside: Path = ROUTER_BESIDE) -> Path | Missing:
    """Return the program ``vllm-router``: of the environment beside the working folder, or on the path."""
    if beside.is_file():
        return beside.absolute()
    program = which("vllm-router")
    if program is None:
        return Missing(
            "vllm-router",
            "there is no such program",
            "install it into an environment of its own (make vllm-env, or pip install vllm-router)",
        )
    return Path(program)


def missing_libraries(*, encodes: bool) -> tuple[Missing, ...]:
    """Return what the service itself lacks: the Redis client, and the encoder's libraries where it encodes here."""
    found = []
    if find_spec("redis") is None:
        found.append(Missing("redis client", "it is not installed", "pip install 'livelens[redis]'"))
    lacking = [name for name in LOCAL_MODEL_NEEDS if encodes and find_spec(name) is None]
    if lacking:
        found.append(
            Missing("encoder", f"{', '.join(lacking)} not installed", "pip install 'livelens[encoder]'")
        )
    return tuple(found)
