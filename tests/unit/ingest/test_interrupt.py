"""Ending a PyAV call that blocks."""

import asyncio
import threading
import time

import av
import av.error
import pytest

from ingest.interrupt import Interrupter
from tests.support.faults import FaultProxy


def blocked_open(interrupter: Interrupter, port: int, took: list[float]) -> None:
    start = time.monotonic()
    with interrupter.bound(), pytest.raises(av.error.FFmpegError):
        av.open(f"rtsp://127.0.0.1:{port}/x", options={"rtsp_transport": "tcp"}, timeout=(30.0, 30.0))
    took.append(time.monotonic() - start)


async def test_an_open_on_a_silent_source_ends_when_told_to() -> None:
    async with FaultProxy(0) as silent:
        interrupter, took = Interrupter(), []
        thread = threading.Thread(target=blocked_open, args=(interrupter, silent.port, took))
        thread.start()
        while not silent.connections:
            assert not interrupter.wait(0.0)
            await asyncio.sleep(0.01)
        interrupter.stop()
        thread.join(1.0)
        assert took
        assert took[0] < 2.0
        assert interrupter.stopped
        assert not interrupter.timed_out


async def test_an_open_on_a_silent_source_ends_at_its_own_limit() -> None:
    async with FaultProxy(0) as silent:
        interrupter, took = Interrupter(), []
        interrupter.limit(0.3)
        thread = threading.Thread(target=blocked_open, args=(interrupter, silent.port, took))
        thread.start()
        await asyncio.to_thread(thread.join, 5.0)
        assert 0.25 < took[0] < 1.5
        assert interrupter.timed_out


def test_other_threads_are_told_the_true_time() -> None:
    interrupter = Interrupter()
    interrupter.stop()
    with interrupter.bound():
        import av.container.core as pyav

        told: list[float] = []
        thread = threading.Thread(target=lambda: told.append(pyav.time.monotonic()))
        thread.start()
        thread.join()
        assert abs(told[0] - time.monotonic()) < 1.0
        assert pyav.time.monotonic() > time.monotonic() + 1000
    assert abs(pyav.time.monotonic() - time.monotonic()) < 1.0


def test_waiting_ends_when_told_to_stop() -> None:
    interrupter = Interrupter()
    assert not interrupter.wait(-1.0)
    interrupter.stop()
    assert interrupter.wait(60.0)


def test_a_wait_ends_when_it_is_over_or_when_the_limit_passes_whichever_comes_first() -> None:
    interrupter = Interrupter()
    assert not interrupter.wait_within_limit(0.001)
    interrupter.limit(60.0)
    assert not interrupter.wait_within_limit(0.001)
    assert not interrupter.timed_out
    interrupter.limit(0.01)
    assert interrupter.wait_within_limit(60.0)
    assert interrupter.timed_out


def test_a_wait_ends_at_once_when_told_to_stop() -> None:
    interrupter = Interrupter()
    threading.Timer(0.02, interrupter.stop).start()
    begin = time.monotonic()
    assert interrupter.wait_within_limit(60.0)
    assert time.monotonic() - begin < 5.0
    assert not interrupter.timed_out
