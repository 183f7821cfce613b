"""Rules that hold for every test: nothing leaks, and no error is logged that the test did not expect."""

import logging
import threading
import time
from collections.abc import Iterator

import hypothesis
import pytest

# The same examples in every run, and no verdict by the clock: machines are busy.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")

# Threads that libraries keep for the life of the process.
_LASTING_THREADS = (
    "pytest_timeout",
    "MainThread",
    "asyncio-waitpid",
    "ThreadPoolExecutor-pictures",
    "Thread-tqdm",
)


def _threads() -> set[threading.Thread]:
    return {t for t in threading.enumerate() if not t.name.startswith(_LASTING_THREADS)}


@pytest.fixture(autouse=True)
def no_leaked_threads() -> Iterator[None]:
    """Fail a test that leaves a thread behind; those that are just ending get two seconds."""
    before = _threads()
    yield
    give_up = time.monotonic() + 2
    while (left := _threads() - before) and time.monotonic() < give_up:
        for thread in left:
            thread.join(0.05)
    assert not left, f"threads left behind: {[thread.name for thread in left]}"


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def no_unexpected_errors(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test during which an ERROR was logged, unless it is marked ``logs_errors``."""
    handler = _Errors()
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)
    if request.node.get_closest_marker("logs_errors") is None:
        assert not handler.records, [f"{r.name}: {r.getMessage()}" for r in handler.records]
