"""Small real processes for tests of ``livelens up``: Python programs that answer over HTTP, or end, as told."""

import sys
from pathlib import Path

from livelens.up_parts import HttpAnswers, Part

_SERVER = """
import http.server, os, sys, threading, time
port, after, lasts, code = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
print("loading", flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    def log_message(self, *words): pass
time.sleep(after)
server = http.server.HTTPServer(("127.0.0.1", port), Answer)
print("serving", os.environ.get("SEEN", ""), flush=True)
if lasts >= 0:
    threading.Timer(lasts, lambda: os._exit(code)).start()
server.serve_forever()
"""

_STUBBORN = (
    """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ignoring", flush=True)
"""
    + _SERVER
)

_FAMILY = (
    """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open(sys.argv[5], "w").write(str(child.pid))
"""
    + _SERVER
)


def serving(
    name: str,
    port: int,
    *,
    after: tuple[str, ...] = (),
    ready_after_s: float = 0.0,
    lasts_s: float = -1.0,
    code: int = 1,
    stubborn: bool = False,
    child_file: Path | None = None,
    stop_within_us: int = 5_000_000,
    ready_within_us: int = 20_000_000,
    hung_after_us: int = 20_000_000,
    listens: tuple[tuple[str, int], ...] = (),
) -> Part:
    """Return a part that answers ``ready_after_s`` after its start and ends with ``code`` ``lasts_s`` later."""
    program = _FAMILY if child_file else _STUBBORN if stubborn else _SERVER
    words = [str(port), str(ready_after_s), str(lasts_s), str(code), str(child_file)]
    return Part(
        name=name,
        command=(sys.executable, "-c", program, *words),
        ready=HttpAnswers(f"http://127.0.0.1:{port}/health"),
        after=after,
        stop_within_us=stop_within_us,
        ready_within_us=ready_within_us,
        hung_after_us=hung_after_us,
        listens=listens,
    )


def ending(name: str, code: int, *, words: str = "no good") -> Part:
    """Return a part that says something and ends at once."""
    return Part(
        name=name,
        command=(sys.executable, "-c", f"print({words!r}); raise SystemExit({code})"),
        ready=HttpAnswers("http://127.0.0.1:9/health"),
    )
