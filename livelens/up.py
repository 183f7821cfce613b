"""Runs the parts of a road: starts them in order, keeps them running, ends them in the other order."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from core.clock import Clock
from livelens.errors import PartFailed
from livelens.up_child import Child, Say
from livelens.up_log import PartLog
from livelens.up_parts import Part, Probe
from livelens.up_probe import answers
from livelens.up_watch import RestartLimits


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a road runs with.

    Attributes:
        logs: Folder for one log a part.
        say: Told of every part's doings.
        announce: Called once, when the parts in ``needed`` have been ready; empty means all.
        show_logs: Every line that a part writes goes to ``say`` too.
    """

    logs: Path
    say: Say
    announce: Callable[[], Awaitable[None]]
    clock: Clock
    needed: tuple[str, ...] = ()
    show_logs: bool = False
    limits: RestartLimits = field(default_factory=RestartLimits)
    answers: Callable[[Probe], Awaitable[bool]] = answers


@dataclass(frozen=True, slots=True)
class Stopping:
    """``stop``: end all parts in order. ``hurry``: kill them."""

    SIGNALS: ClassVar = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def signalled(self) -> None:
        """Take one more signal: the first stops, the second hurries."""
        (self.hurry if self.stop.is_set() else self.stop).set()

    @contextmanager
    def from_the_start(self) -> Iterator[None]:
        """Take the same signals inside the block where no loop runs yet; one that comes then is not lost."""
        before = {number: signal.signal(number, lambda *_: self.signalled()) for number in self.SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Take the signals that mean an end inside the block."""
        loop = asyncio.get_running_loop()
        for number in self.SIGNALS:
            loop.add_signal_handler(number, self.signalled)
        try:
            yield
        finally:
            for number in self.SIGNALS:
                loop.remove_signal_handler(number)


async def run_parts(parts: Sequence[Part], around: Surroundings, stopping: Stopping) -> None:
    """Run parts until ``stopping.stop``, or until one of them will not come up.

    Raises PartFailed in the latter case, after all others were ended too.
    """
    if stopping.stop.is_set():
        return
    around.logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    children = {part.name: _child(part, around, stopping) for part in parts}
    failures: asyncio.Queue[PartFailed] = asyncio.Queue()
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_keep(child, children, failures), name=f"up:{name}")
            for name, child in children.items()
        ]
        announcing = group.create_task(_announce(children, around), name="up:announce")
        told = group.create_task(stopping.stop.wait(), name="up:stop")
        failed = group.create_task(failures.get(), name="up:failed")
        try:
            await asyncio.wait((told, failed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for other in (announcing, told, failed):
                other.cancel()
            for part, task in reversed(list(zip(parts, tasks, strict=True))):
                if not task.done() and children[part.name].started:
                    around.say(part.name, "ending")
                task.cancel()
                await asyncio.wait([task])
    if not failed.cancelled():
        raise failed.result()


async def _keep(child: Child, children: dict[str, Child], failures: asyncio.Queue[PartFailed]) -> None:
    for name in child.part.after:
        await children[name].ready.wait()
    try:
        await child.run()
    except PartFailed as error:
        failures.put_nowait(error)


async def _announce(children: dict[str, Child], around: Surroundings) -> None:
    for name in around.needed or children:
        await children[name].ready.wait()
    await around.announce()


def _child(part: Part, around: Surroundings, stopping: Stopping) -> Child:
    def listen(line: str) -> None:
        around.say(part.name, f"| {line}")

    log = PartLog(around.logs / f"{part.name}.log", listener=listen if around.show_logs else None)
    return Child(
        part,
        log=log,
        say=around.say,
        clock=around.clock,
        answers=around.answers,
        inherited=os.environ,
        limits=around.limits,
        hurry=stopping.hurry,
    )
