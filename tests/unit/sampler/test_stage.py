"""The stage between frames and samples."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.channel import Channel, Overflow
from core.frames import Frame, Sample
from core.meter import Metric, TallyMeter
from core.records import Record, StaticSpan
from sampler.sampler import Pushed, Sampler
from sampler.stage import select
from tests.unit.sampler.test_sampler import START_US, frame


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


async def test_frames_become_samples_in_order_and_the_output_closes(pool: ThreadPoolExecutor) -> None:
    frames: Channel[Frame] = Channel(100, Overflow.DROP_OLDEST)
    samples: Channel[Sample] = Channel(100, Overflow.WAIT)
    records: list[Record] = []
    meter = TallyMeter()
    for n in range(50):
        frames.send_nowait(frame(n * 100_000))
    frames.close()
    await select(frames, samples, sampler=Sampler(), executor=pool, on_record=records.append, meter=meter)
    assert [sample.t_us - START_US async for sample in samples] == [0, 2_000_000, 4_000_000]
    assert records[-1] == StaticSpan(START_US, START_US + 4_900_000)
    assert meter.counts[Metric.SAMPLES, (("reason", "heartbeat"),)] == 2


async def test_samples_dropped_for_load_are_counted(pool: ThreadPoolExecutor) -> None:
    frames: Channel[Frame] = Channel(100, Overflow.DROP_OLDEST)
    samples: Channel[Sample] = Channel(1, Overflow.DROP_OLDEST)
    meter = TallyMeter()
    for n in range(50):
        frames.send_nowait(frame(n * 100_000))
    frames.close()
    await select(frames, samples, sampler=Sampler(), executor=pool, on_record=lambda _: None, meter=meter)
    assert meter.counts[Metric.FRAMES_DROPPED, (("stage", "sampler"),)] == 2


class HeldSampler(Sampler):
    """Waits inside ``push`` until told, and notes if ``finish`` ever overlaps it."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.inside = self.overlapped = self.finished = False

    def push(self, frame: Frame) -> Pushed:
        self.inside = True
        self.entered.set()
        self.go_on.wait(5)
        pushed = super().push(frame)
        self.inside = False
        return pushed

    def finish(self) -> tuple[Record, ...]:
        self.overlapped, self.finished = self.inside, True
        return super().finish()


async def test_cancelling_waits_for_the_frame_in_hand_and_closes_the_output(pool: ThreadPoolExecutor) -> None:
    frames: Channel[Frame] = Channel(4, Overflow.DROP_OLDEST)
    samples: Channel[Sample] = Channel(4, Overflow.WAIT)
    sampler = HeldSampler()
    frames.send_nowait(frame(0))
    running = asyncio.create_task(
        select(frames, samples, sampler=sampler, executor=pool, on_record=lambda _: None, meter=TallyMeter())
    )
    await asyncio.to_thread(sampler.entered.wait, 5)
    running.cancel()
    await asyncio.sleep(0)
    sampler.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sampler.finished
    assert not sampler.overlapped
    assert [sample async for sample in samples] == []


async def test_a_reader_that_has_gone_does_not_stop_the_records(pool: ThreadPoolExecutor) -> None:
    frames: Channel[Frame] = Channel(100, Overflow.DROP_OLDEST)
    samples: Channel[Sample] = Channel(1, Overflow.WAIT)
    samples.close()
    records: list[Record] = []
    for n in range(30):
        frames.send_nowait(frame(n * 100_000))
    frames.close()
    await select(
        frames, samples, sampler=Sampler(), executor=pool, on_record=records.append, meter=TallyMeter()
    )
    assert records
