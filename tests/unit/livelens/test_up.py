"""Several parts together: order of start and end, one that fails, a signal."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from core.clock import ServiceClock
from livelens.errors import PartFailed
from livelens.ports import free_port
from livelens.up import Stopping, Surroundings, run_parts
from livelens.up_parts import OwnRedis, Part, redis_part
from livelens.up_watch import RestartLimits
from tests.support.up_parts import ending, serving

QUICK = RestartLimits(first_pause_us=10_000, longest_pause_us=40_000, tries=3)


class Run:
    """Runs parts until they are all ready, then stops them; keeps what was told."""

    def __init__(self, folder: Path, *, show_logs: bool = False, needed: tuple[str, ...] = ()) -> None:
        self.told: list[str] = []
        self.stopping = Stopping()
        self.announced = 0
        self._around = Surroundings(
            logs=folder / "logs",
            say=lambda part, sentence: self.told.append(f"{part}: {sentence}"),
            announce=self._announce,
            clock=ServiceClock(),
            needed=needed,
            show_logs=show_logs,
            limits=QUICK,
        )

    async def _announce(self) -> None:
        self.announced += 1
        self.stopping.stop.set()

    async def run(self, parts: Sequence[Part]) -> None:
        async with asyncio.timeout(30):
            await run_parts(parts, self._around, self.stopping)

    def order(self, word: str) -> list[str]:
        return [line.partition(":")[0] for line in self.told if word in line]


async def test_parts_start_in_order_and_end_in_the_other(tmp_path: Path) -> None:
    run = Run(tmp_path)
    await run.run(
        [
            serving("redis", free_port(), ready_after_s=0.3),
            serving("decoder", free_port(), after=("redis",), ready_after_s=0.3),
            serving("serve", free_port(), after=("redis", "decoder")),
        ]
    )
    assert run.order("ready after") == ["redis", "decoder", "serve"]
    assert run.order("ending") == ["serve", "decoder", "redis"]
    assert run.announced == 1


async def test_people_are_told_as_soon_as_what_they_need_is_ready(tmp_path: Path) -> None:
    run = Run(tmp_path, needed=("serve",))
    await run.run([serving("decoder", free_port(), ready_after_s=600), serving("serve", free_port())])
    assert run.announced == 1
    assert run.order("ready after") == ["serve"]


async def test_a_part_that_will_not_come_up_ends_the_others_too(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with pytest.raises(PartFailed, match="decoder ended with code 2"):
        await run.run([serving("redis", free_port()), ending("decoder", 2)])
    assert run.announced == 0
    assert "redis" in run.order("ending")


async def test_a_stop_before_anything_is_ready_ends_what_has_started(tmp_path: Path) -> None:
    run = Run(tmp_path)
    never = [
        serving("redis", free_port(), ready_after_s=600),
        serving("serve", free_port(), after=("redis",)),
    ]
    async with asyncio.TaskGroup() as group:
        group.create_task(run.run(never))
        await asyncio.sleep(0)
        run.stopping.signalled()
    assert run.announced == 0
    assert "serve" not in run.order("ending")


async def test_a_signal_stops_and_a_second_one_hurries(tmp_path: Path) -> None:
    stopping = Stopping()
    with stopping.on_signals():
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(5):
            await stopping.stop.wait()
        assert not stopping.hurry.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(5):
            await stopping.hurry.wait()


async def test_with_logs_shown_every_line_is_told(tmp_path: Path) -> None:
    run = Run(tmp_path, show_logs=True)
    await run.run([serving("decoder", free_port())])
    assert "decoder: | loading" in run.told


async def test_an_own_redis_comes_up_and_goes_without_a_trace(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir(mode=0o700)
    redis = OwnRedis(Path("/usr/bin/redis-server"), folder, budget_bytes=1 << 20)
    run = Run(tmp_path)
    await run.run([redis_part(redis)])
    assert run.order("ready after") == ["redis"]
    assert list(folder.iterdir()) == []
    assert (tmp_path / "logs" / "redis.log").stat().st_size > 0


async def test_a_signal_that_came_before_there_was_a_loop_is_not_lost(tmp_path: Path) -> None:
    stopping = Stopping()
    before = signal.getsignal(signal.SIGINT)
    with stopping.from_the_start():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert stopping.stop.is_set()
    run = Run(tmp_path)
    run.stopping = stopping
    await run.run([serving("redis", free_port())])
    assert run.told == []
