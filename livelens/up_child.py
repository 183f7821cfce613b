"""One process of the road: started, read, asked whether it is up, started again, ended."""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from core.clock import Clock
from livelens.errors import PartFailed
from livelens.ports import taken
from livelens.up_log import Lines, PartLog
from livelens.up_parts import Part, Probe
from livelens.up_watch import NOT_STARTED, Again, GiveUp, RestartLimits, Restarts, said_of

PROBE_EVERY_S = 0.2
LOOK_EVERY_S = 5.0
FREE_WITHIN_S = 5.0
"""So long may an address stay taken after its last user has gone."""
TELL_EVERY_S = 10.0
LAST_WORDS_S = 2.0
SHOWN_CHARS = 120

Say = Callable[[str, str], None]
"""Tells people something about a part: its name, a sentence."""


class Child:
    """Keeps one part running until it is cancelled; then ends it, politely first.

    Processes get a session of their own, so that a Ctrl-C in the terminal reaches only us, and a whole family can be
    killed at once. Where ``setpriv`` is there (util-linux), they end with us even if we are killed.
    """

    def __init__(
        self,
        part: Part,
        *,
        log: PartLog,
        say: Say,
        clock: Clock,
        answers: Callable[[Probe], Awaitable[bool]],
        inherited: Mapping[str, str],
        limits: RestartLimits,
        hurry: asyncio.Event,
    ) -> None:
        self.part = part
        self.ready = asyncio.Event()
        self.started = False
        self._log = log
        self._say = say
        self._clock = clock
        self._answers = answers
        self._environment = part.environment_from(inherited)
        self._restarts = Restarts(limits)
        self._hurry = hurry

    async def run(self) -> None:
        """Run until cancelled, starting again as needed. Raises PartFailed when it will not come up."""
        while True:
            try:
                code = await self._run_once()
            except OSError as error:
                raise PartFailed(self.part.name, f"cannot be started: {error.strerror}") from None
            verdict = self._restarts.ended(code, self._clock.mono_us())
            for line in self._log.newest():
                self._say(self.part.name, f"| {line[:SHOWN_CHARS]}")
            match verdict:
                case GiveUp():
                    raise PartFailed(
                        self.part.name, f"{said_of(code)}; {verdict.why}; its log is {self._log.path}"
                    )
                case Again():
                    self._say(
                        self.part.name, f"{said_of(code)}; starting again in {verdict.pause_us / 1e6:g} s"
                    )
                    await asyncio.sleep(verdict.pause_us / 1e6)

    async def _run_once(self) -> int:
        """Run one process to its end; return its exit code, negative for a signal. Raises OSError."""
        self._restarts.started()
        self._log.forget()
        if (why := await self._taken()) is not None:
            self._say(self.part.name, why)
            return NOT_STARTED
        async with _output() as (output, writable):
            try:
                process = await asyncio.create_subprocess_exec(
                    *tethered(self.part.command),
                    env=self._environment,
                    stdin=DEVNULL,
                    stdout=writable,
                    stderr=writable,
                    start_new_session=True,
                )
            finally:
                os.close(writable)
            self.started = True
            return await self._accompany(process, output)

    async def _taken(self) -> str | None:
        """Return why an address it needs cannot be had; those left by its last run are waited for."""
        begun_us = self._clock.mono_us()
        for host, port in self.part.listens:
            while (why := taken(host, port)) is not None:
                if self._clock.mono_us() - begun_us > FREE_WITHIN_S * 1e6:
                    return f"cannot listen on {host}:{port}: {why}"
                await asyncio.sleep(PROBE_EVERY_S)
        return None

    async def _accompany(self, process: Process, output: asyncio.StreamReader) -> int:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._read(output), name=f"up:{self.part.name}:log")
            watching = group.create_task(self._watch(process), name=f"up:{self.part.name}:ready")
            try:
                code = await process.wait()
            finally:
                watching.cancel()
                await self._end(process)
                # Somebody the process left behind may hold its output open; what it says is not waited for.
                await asyncio.wait([reading], timeout=LAST_WORDS_S)
                reading.cancel()
        return code

    async def _read(self, output: asyncio.StreamReader) -> None:
        lines = Lines()
        while chunk := await output.read(65_536):
            self._log.write(lines.push(chunk))
        self._log.write(lines.end())

    async def _watch(self, process: Process) -> None:
        """Wait until the part answers, telling people while they wait; end it when that takes too long."""
        begun_us = told_us = self._clock.mono_us()
        while not await self._answers(self.part.ready):
            now_us = self._clock.mono_us()
            waited_s = (now_us - begun_us) // 1_000_000
            if now_us - begun_us > self.part.ready_within_us:
                self._say(self.part.name, f"is not ready after {waited_s} s; ending it")
                await self._end(process)
                return
            if now_us - told_us >= TELL_EVERY_S * 1e6:
                told_us = now_us
                last = "".join(self._log.newest()[-1:])
                self._say(self.part.name, f"starting, {waited_s} s: {last[:SHOWN_CHARS]}".rstrip(": "))
            await asyncio.sleep(PROBE_EVERY_S)
        self._restarts.ready(self._clock.mono_us())
        self._say(self.part.name, f"ready after {(self._clock.mono_us() - begun_us) / 1e6:.1f} s")
        self.ready.set()
        await self._look_after(process)

    async def _look_after(self, process: Process) -> None:
        """Go on asking; end a process that runs and has said nothing for long."""
        limit_us = self.part.hung_after_us
        answered_us = self._clock.mono_us()
        while (silent_us := self._clock.mono_us() - answered_us) <= limit_us:
            await asyncio.sleep(min(LOOK_EVERY_S, limit_us / 8e6))
            if await self._answers(self.part.ready):
                answered_us = self._clock.mono_us()
        self._say(self.part.name, f"runs and has not answered for {silent_us / 1e6:.0f} s; ending it")
        await self._end(process)

    async def _end(self, process: Process) -> None:
        """End the process if it runs, and whatever of its family is left."""
        if process.returncode is None:
            _signal(process, signal.SIGTERM)
            if not await self._ended_within(process, self.part.stop_within_us / 1e6):
                self._say(self.part.name, "does not end; killing it")
        _signal_family(process, signal.SIGKILL)
        await process.wait()

    async def _ended_within(self, process: Process, limit_s: float) -> bool:
        """Wait until the process has ended, the time is up, or somebody is in a hurry."""
        if self._hurry.is_set():
            return False
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(process.wait()), group.create_task(self._hurry.wait())]
            await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
        return process.returncode is not None


def tethered(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command that also ends when whoever started it is gone, where the system can do that."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "TERM", "--", *command) if setpriv else command


@asynccontextmanager
async def _output() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A pipe of our own: what is read of it, and the descriptor to hand to a process, which the caller closes.

    asyncio's own pipes will not do: with them a process counts as running for as long as anybody holds its output
    open, an engine that outlives its server for example.
    """
    readable, writable = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(readable, "rb", buffering=0)
    )
    try:
        yield reader, writable
    finally:
        transport.close()


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def _signal_family(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
