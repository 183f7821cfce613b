"""Runs ``ingest.pump`` on one source and keeps all that comes out, for tests.

async with pumping(source) as run:
    await run.until(lambda: len(run.frames) >= 10)
assert run.numbers == list(range(10))
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from core.cameras import Camera, CameraState, Source, StateReport
from core.channel import Channel, Overflow
from core.clock import ServiceClock
from core.frames import Frame
from core.ids import CameraId, Incarnation
from core.meter import TallyMeter
from core.records import EpochStart, Gap, Record
from ingest import NO_FEEDS, Feeds, IngestSettings, PacketGate, pump
from ingest.opening import Opener
from tests.support.clips import read_number
from tests.support.faults import wait_until

QUICK = IngestSettings(
    connect_timeout_s=3.0,
    read_timeout_s=1.0,
    first_pause_s=0.05,
    longest_pause_s=0.4,
    slow_pause_s=0.5,
    longest_slow_pause_s=2.0,
    report_every_s=0.1,
)
"""Short times, so that tests of slow things are quick."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One frame that came out. ``number`` is the one painted into it."""

    t_us: int
    epoch: int
    number: int | None
    size: tuple[int, int]
    now_us: int


@dataclass
class Run:
    """All that one pump gave so far."""

    clock: ServiceClock = field(default_factory=ServiceClock)
    meter: TallyMeter = field(default_factory=TallyMeter)
    frames: list[Seen] = field(default_factory=list)
    reports: list[StateReport] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    channel: Channel[Frame] = field(default_factory=lambda: Channel(64, Overflow.DROP_OLDEST))
    task: "asyncio.Task[None] | None" = None

    @property
    def numbers(self) -> list[int | None]:
        return [frame.number for frame in self.frames]

    @property
    def times_us(self) -> list[int]:
        return [frame.t_us for frame in self.frames]

    @property
    def steps_us(self) -> list[int]:
        return [after - before for before, after in zip(self.times_us, self.times_us[1:], strict=False)]

    @property
    def states(self) -> list[CameraState]:
        """The states in order, each once until it changes."""
        states: list[CameraState] = []
        for report in self.reports:
            if not states or states[-1] is not report.state:
                states.append(report.state)
        return states

    @property
    def last(self) -> StateReport:
        return self.reports[-1]

    @property
    def skipped(self) -> dict[str, int]:
        return dict(self.last.skipped)

    @property
    def gaps(self) -> list[Gap]:
        """The gaps as they stand: a closed one has replaced itself open."""
        found = {record.key: record for record in self.records if isinstance(record, Gap)}
        return list(found.values())

    @property
    def epochs(self) -> list[EpochStart]:
        return [record for record in self.records if isinstance(record, EpochStart)]

    async def until(self, condition: Callable[[], bool], *, within_s: float = 15.0) -> None:
        """Wait for a condition; an error of the pump passes."""
        assert self.task is not None
        task = self.task
        await wait_until(lambda: condition() or task.done(), within_s=within_s)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error
        assert condition(), f"the pump ended first: {self.last}"

    async def ended(self, *, within_s: float = 20.0) -> None:
        """Wait until the pump ends by itself."""
        assert self.task is not None
        async with asyncio.timeout(within_s):
            await self.task


def camera(source: Source, name: str = "cam") -> Camera:
    return Camera(CameraId(name), name, source, ZoneInfo("UTC"), Incarnation("i1"), created_us=0)


@contextlib.asynccontextmanager
async def pumping(
    source: Source,
    *,
    settings: IngestSettings = QUICK,
    floor_us: int | None = None,
    gate: PacketGate | None = None,
    feeds: Feeds = NO_FEEDS,
    opener: Opener | None = None,
    run: Run | None = None,
    name: str = "cam",
) -> AsyncIterator[Run]:
    """Run a pump within this block; at its end it is cancelled, and nothing of it may be left."""
    run = run or Run()

    async def collect() -> None:
        async for frame in run.channel:
            picture = frame.picture
            run.frames.append(
                Seen(
                    frame.t_us,
                    frame.epoch,
                    read_number(picture.luma()),
                    (picture.width_px, picture.height_px),
                    run.clock.now_us(),
                )
            )

    collector = asyncio.create_task(collect())
    run.task = asyncio.create_task(
        pump(
            camera(source, name),
            run.channel,
            clock=run.clock,
            meter=run.meter,
            settings=settings,
            floor_us=floor_us,
            on_state=run.reports.append,
            on_record=run.records.append,
            gate=gate,
            feeds=feeds,
            opener=opener,
        )
    )
    try:
        await asyncio.sleep(0)  # a task cancelled before its first step never runs its own clean-up
        yield run
    finally:
        run.task.cancel()
        await asyncio.wait([run.task])
        await asyncio.wait_for(collector, 2.0)  # ends because the pump closed its channel
        assert f"ingest:{name}" not in reader_threads(), "the reader's thread is left"


def reader_threads() -> list[str]:
    """Return the names of the threads that ingest has running."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ingest:")]


def open_files() -> int:
    """Return how many files and sockets this process holds open."""
    return len(os.listdir("/proc/self/fd"))
