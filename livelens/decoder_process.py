"""Runs vLLM as a child: signals go through to it, its end is ours, and nothing of it stays behind.

vLLM has processes of its own (the engine, its workers). The child begins a process group, so that a stop that is
not heeded in time reaches all of them.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import FrameType

from livelens.decoder_command import Start

STOP_S = 20.0
"""How long vLLM may take to end before it is killed."""

ENDED_BY_ITSELF = 1
"""Exit code where vLLM ended unasked and said that all was well."""

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def child_environment(start: Start, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the child: ours without our own settings, and what the start needs.

    How KV travels (``UCX_*``) is the operator's choice where there is one.
    """
    kept = {k: v for k, v in environment.items() if not k.startswith("LIVELENS_") and k not in _NOT_INHERITED}
    chosen = {k: v for k, v in kept.items() if k.startswith("UCX_")}
    return kept | dict(start.environment) | chosen | dict(start.secret)


# They point into our own environment, or would start vLLM in another way than the profile says.
_NOT_INHERITED = frozenset({"PYTHONHOME", "VIRTUAL_ENV", "PYTHONPATH", "VLLM_CONFIG_ROOT"})


def run_decoder(start: Start, *, environment: Mapping[str, str], stop_s: float = STOP_S) -> int:
    """Run vLLM until it ends or we are told to stop; return its exit code, 128 + the signal that ended it.

    An end that nobody asked for is never 0, so that whoever looks after us starts it again.

    Must be called in the main thread. A first signal asks it to end, a second one, or ``stop_s``, kills it.
    """
    child = subprocess.Popen(
        start.command,
        env=child_environment(start, environment),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    stopping = _Stopping(child, stop_s)
    before = {number: signal.signal(number, stopping.on_signal) for number in _PASSED_ON}
    try:
        code = child.wait()
    finally:
        stopping.end()
        for number, handler in before.items():
            signal.signal(number, handler)
        kill_group(child.pid)  # workers that outlived their server
    if code == 0 and not stopping.asked:
        return ENDED_BY_ITSELF  # vLLM ends with 0 when its engine was killed (seen with 0.32)
    return code if code >= 0 else 128 - code


def kill_group(group: int) -> None:
    """Kill whatever is left of a process group that we began."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


class _Stopping:
    def __init__(self, child: "subprocess.Popen[bytes]", stop_s: float) -> None:
        self._child = child
        self._stop_s = stop_s
        self._timer: threading.Timer | None = None

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._timer is not None:
            kill_group(self._child.pid)
            return
        self._timer = threading.Timer(self._stop_s, kill_group, (self._child.pid,))
        self._timer.daemon = True
        self._timer.start()
        if self._child.poll() is None:
            self._child.send_signal(number)

    @property
    def asked(self) -> bool:
        """Return whether we were told to stop."""
        return self._timer is not None

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
