"""One part as a real process: started, watched, started again, ended with its whole family."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core.clock import ServiceClock
from livelens.errors import PartFailed
from livelens.ports import free_port
from livelens.up_child import Child, tethered
from livelens.up_log import PartLog
from livelens.up_parts import Part
from livelens.up_probe import answers
from livelens.up_watch import RestartLimits
from tests.support.up_parts import ending, serving

QUICK = RestartLimits(first_pause_us=10_000, longest_pause_us=40_000, tries=3)


class Told(list[str]):
    """What people were told, as ``part: sentence``."""

    def say(self, part: str, sentence: str) -> None:
        self.append(f"{part}: {sentence}")


def child_of(
    part: Part,
    folder: Path,
    told: Told,
    *,
    hurry: asyncio.Event | None = None,
    inherited: Mapping[str, str] = os.environ,
) -> Child:
    return Child(
        part,
        log=PartLog(folder / f"{part.name}.log"),
        say=told.say,
        clock=ServiceClock(),
        answers=answers,
        inherited=inherited,
        limits=QUICK,
        hurry=hurry or asyncio.Event(),
    )


@asynccontextmanager
async def running(child: Child) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(child.run())
    try:
        async with asyncio.timeout(20):
            await child.ready.wait()
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)


def processes(port: int) -> list[psutil.Process]:
    """Return the children of this test that serve ``port``."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if str(port) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


async def test_a_part_is_ready_when_it_answers_and_gone_when_it_is_cancelled(tmp_path: Path) -> None:
    told, port = Told(), free_port()
    async with running(child_of(serving("decoder", port), tmp_path, told)):
        assert len(processes(port)) == 1
        assert told[-1].startswith("decoder: ready after ")
    assert processes(port) == []
    assert (tmp_path / "decoder.log").read_text().splitlines()[0] == "loading"


async def test_a_part_that_dies_is_started_again_and_people_are_told(tmp_path: Path) -> None:
    told, port = Told(), free_port()
    async with running(child_of(serving("decoder", port), tmp_path, told)):
        (first,) = processes(port)
        first.kill()
        await until(lambda: sum("ready after" in line for line in told) == 2)
        (second,) = processes(port)
        assert second.pid != first.pid
    assert "decoder: was ended by SIGKILL; starting again in 0.01 s" in told
    assert "decoder: | serving" in told


async def test_a_part_that_runs_and_answers_no_more_is_ended_and_started_again(tmp_path: Path) -> None:
    told, port = Told(), free_port()
    part = serving("decoder", port, stop_within_us=100_000, hung_after_us=500_000)
    async with running(child_of(part, tmp_path, told)):
        (first,) = processes(port)
        first.suspend()
        await until(lambda: sum("ready after" in line for line in told) == 2)
        (second,) = processes(port)
        assert second.pid != first.pid
    assert any(line.startswith("decoder: runs and has not answered for ") for line in told)
    assert "decoder: does not end; killing it" in told


async def test_a_part_whose_address_is_taken_is_not_started_until_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livelens.up_child.FREE_WITHIN_S", 0.05)
    told, port = Told(), free_port()
    with socket.create_server(("127.0.0.1", 0)) as other:
        side = other.getsockname()[1]
        task = asyncio.create_task(
            child_of(serving("prefill", port, listens=(("127.0.0.1", side),)), tmp_path, told).run()
        )
        with pytest.raises(PartFailed, match="prefill was not started; it ended 3 times before it was ready"):
            await task
    assert f"prefill: cannot listen on 127.0.0.1:{side}: Address already in use" in told
    assert processes(port) == []
    async with running(child_of(serving("prefill", port, listens=(("127.0.0.1", side),)), tmp_path, told)):
        assert len(processes(port)) == 1


async def test_a_part_that_refuses_its_settings_is_not_started_again(tmp_path: Path) -> None:
    told = Told()
    with pytest.raises(PartFailed, match="serve ended with code 2; it does not start with these settings"):
        await child_of(ending("serve", 2, words="livelens: port = 'x'"), tmp_path, told).run()
    assert told == ["serve: | livelens: port = 'x'"]


async def test_a_part_that_never_comes_up_is_given_up(tmp_path: Path) -> None:
    told = Told()
    with pytest.raises(PartFailed, match=r"it ended 3 times before it was ready; its log is .*decoder\.log"):
        await child_of(ending("decoder", 1), tmp_path, told).run()
    assert [line for line in told if "again" in line] == [
        "decoder: ended with code 1; starting again in 0.01 s",
        "decoder: ended with code 1; starting again in 0.02 s",
    ]


async def test_a_program_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = replace(ending("redis", 0), command=("/nowhere/redis-server",))
    with pytest.raises(PartFailed, match="redis ended with code 127; it cannot be run"):
        await child_of(part, tmp_path, Told()).run()
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(PartFailed, match="redis cannot be started: No such file or directory"):
        await child_of(part, tmp_path, Told()).run()


async def test_a_part_that_does_not_end_is_killed(tmp_path: Path) -> None:
    told, port = Told(), free_port()
    async with running(child_of(serving("x", port, stubborn=True, stop_within_us=100_000), tmp_path, told)):
        pass
    assert told[-1] == "x: does not end; killing it"
    assert processes(port) == []


async def test_who_is_in_a_hurry_does_not_wait_for_a_polite_end(tmp_path: Path) -> None:
    hurry, port = asyncio.Event(), free_port()
    part = serving("x", port, stubborn=True, stop_within_us=600_000_000)
    async with running(child_of(part, tmp_path, Told(), hurry=hurry)) as task:
        task.cancel()
        asyncio.get_running_loop().call_soon(hurry.set)
    assert processes(port) == []


async def test_what_a_part_has_started_ends_with_it(tmp_path: Path) -> None:
    told, port, file = Told(), free_port(), tmp_path / "pid"
    async with running(child_of(serving("decoder", port, child_file=file), tmp_path, told)):
        engine = psutil.Process(int(file.read_text()))
        (leader,) = processes(port)
        leader.kill()
        await until(lambda: not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE)


async def test_a_part_that_is_not_ready_in_time_is_ended_and_started_again(tmp_path: Path) -> None:
    told, port = Told(), free_port()
    part = serving("decoder", port, ready_after_s=600, ready_within_us=300_000)
    with pytest.raises(PartFailed, match="3 times before it was ready"):
        await child_of(part, tmp_path, told).run()
    assert "decoder: is not ready after 0 s; ending it" in told
    assert processes(port) == []


async def test_waiting_people_are_told_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livelens.up_child.TELL_EVERY_S", 0.2)
    told = Told()
    async with running(child_of(serving("decoder", free_port(), ready_after_s=2.0), tmp_path, told)):
        pass
    assert any(line.startswith("decoder: starting, ") and line.endswith(" s: loading") for line in told)


async def test_a_part_sees_its_environment_and_none_of_our_keys(tmp_path: Path) -> None:
    part = replace(serving("x", free_port()), environment={"SEEN": "yes"})
    inherited = {**os.environ, "LIVELENS_MODEL_KEY": "k"}
    async with running(child_of(part, tmp_path, Told(), inherited=inherited)):
        await until(lambda: "serving yes" in (tmp_path / "x.log").read_text())


async def test_a_part_ends_with_us_even_if_we_are_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    program = (
        "import asyncio, sys; from livelens.up_child import tethered\n"
        "async def main():\n"
        "    p = await asyncio.create_subprocess_exec(*tethered(('sleep', '600')), start_new_session=True)\n"
        "    open(sys.argv[1], 'w').write(str(p.pid)); await p.wait()\n"
        "asyncio.run(main())"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(file))
    await until(lambda: file.exists() and file.read_text() != "")
    orphan = psutil.Process(int(file.read_text()))
    await until(lambda: orphan.name() == "sleep")
    parent.kill()
    await parent.wait()
    give_up = time.monotonic() + 10
    while orphan.is_running() and orphan.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < give_up
        await asyncio.sleep(0.01)


def test_where_the_system_cannot_tether_a_command_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert tethered(("a", "b")) == ("a", "b")
