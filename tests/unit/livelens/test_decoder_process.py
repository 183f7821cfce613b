import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from livelens.decoder_command import Start
from livelens.decoder_process import child_environment, run_decoder

RUNNER = """
import os, sys
from livelens.decoder_command import Start
from livelens.decoder_process import run_decoder
sys.exit(run_decoder(Start((sys.executable, "-c", sys.argv[1]), {}), environment=os.environ, stop_s=float(sys.argv[2])))
"""


def start(code: str) -> Start:
    return Start((sys.executable, "-c", code), {"MARK": "told"}, secret={"HIDDEN": "word"})


def run(code: str, *, stop_s: float = 20.0) -> "subprocess.Popen[str]":
    """Run a child under ``run_decoder`` in a process of its own, and wait until the child has said something."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, textwrap.dedent(code), str(stop_s)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def test_the_child_gets_what_the_start_says_and_none_of_our_settings() -> None:
    found = child_environment(
        start(""),
        {"PATH": "/bin", "LIVELENS_PORT": "1", "VIRTUAL_ENV": "/x", "PYTHONPATH": "/y", "MARK": "old"},
    )
    assert found == {"PATH": "/bin", "MARK": "told", "HIDDEN": "word"}


def test_how_kv_travels_may_be_chosen_from_outside() -> None:
    asked = Start(("vllm",), {"UCX_TLS": "tcp,sm,self", "MARK": "told"})
    found = child_environment(asked, {"UCX_TLS": "tcp,self"})
    assert found == {"UCX_TLS": "tcp,self", "MARK": "told"}


@pytest.mark.parametrize(("code", "status"), [("", 1), ("import sys; sys.exit(3)", 3)])
def test_the_end_of_the_child_is_ours_and_never_looks_wanted_where_nobody_asked_for_it(
    code: str, status: int
) -> None:
    assert run_decoder(start(code), environment=os.environ) == status


def test_a_child_that_was_killed_tells_by_which_signal() -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run_decoder(start(code), environment=os.environ) == 128 + signal.SIGKILL


def test_a_stop_goes_through_to_the_child_and_its_answer_comes_back() -> None:
    process = run(
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        print("ready", flush=True)
        time.sleep(60)
        """
    )
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 7
    process.communicate()


def test_a_child_that_does_not_heed_the_stop_is_killed_with_all_its_processes() -> None:
    process = run(
        """
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print(worker.pid, flush=True)
        time.sleep(60)
        """,
        stop_s=0.1,
    )
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) == 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGKILL
    process.communicate()
    assert gone(family)


def test_workers_that_outlive_the_child_are_ended_too() -> None:
    process = run(
        """
        import subprocess, sys
        worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
        print(worker.pid, flush=True)
        sys.stdin.read()
        import time; time.sleep(0.2)
        """
    )
    family = psutil.Process(process.pid).children(recursive=True)
    assert process.wait(20) == 1
    process.communicate()
    assert gone(family)


def gone(family: list[psutil.Process]) -> bool:
    """Return whether all have ended, waiting up to ten seconds."""
    give_up = time.monotonic() + 10
    while any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in family):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True
