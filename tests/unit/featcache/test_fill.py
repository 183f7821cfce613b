import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from core.channel import Channel, Overflow
from core.clock import ManualClock
from core.frames import Features, KeepReason, Sample
from core.ids import split_frame_ref
from core.meter import Metric, NullMeter, TallyMeter
from core.spans import Span
from featcache.errors import StaleIncarnation, UnknownCamera, WindowUnavailable
from featcache.fill import fill
from featcache.pool import MemoryPool
from featcache.settings import Settings
from featcache.window import StoredFrame
from tests.support.pictures import ArrayPicture
from tests.support.windows import (
    ENCODER,
    FIRST_LIFE,
    GATE,
    NOON_US,
    SECOND_LIFE,
    SECOND_US,
    ScriptedEncoder,
    features_of,
    sample_of,
)

EVER = Span(0, 1 << 60)


class Bench:
    """One camera's fill with everything around it."""

    def __init__(self, *, settings: Settings | None = None, capacity: int = 4) -> None:
        self.meter = TallyMeter()
        self.window = MemoryPool(settings or Settings(), meter=NullMeter())
        self.clock = ManualClock(NOON_US)
        self.samples: Channel[Sample] = Channel(capacity, Overflow.DROP_OLDEST)
        self.encoder = ScriptedEncoder()
        self.stored: list[StoredFrame] = []

    @asynccontextmanager
    async def running(self, *, encoder: bool = True, first_seq: int = 0) -> AsyncIterator[None]:
        """Fill while the block runs, then close the samples and wait for the end."""
        await self.window.open_camera(GATE, FIRST_LIFE)
        async with asyncio.TaskGroup() as group:
            group.create_task(
                fill(
                    self.samples,
                    self.window,
                    camera_id=GATE,
                    incarnation=FIRST_LIFE,
                    encoder=self.encoder if encoder else None,
                    clock=self.clock,
                    meter=self.meter,
                    first_seq=first_seq,
                    on_stored=self.stored.append,
                )
            )
            yield
            self.samples.close()

    async def send(self, *times_us: int) -> None:
        """Send samples one after the other, each once the one before is stored."""
        for t_us in times_us:
            count = len(self.stored)
            self.samples.send_nowait(sample_of(t_us))
            await until(lambda count=count: len(self.stored) > count)


async def until(condition) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def test_a_sample_becomes_a_frame_with_features_under_the_encoders_ref() -> None:
    bench = Bench()
    async with bench.running():
        await bench.send(NOON_US)
    (frame,) = bench.stored
    assert split_frame_ref(frame.ref) == (GATE, NOON_US, ENCODER, "4")
    assert frame.features == features_of(seed=1)
    assert (frame.width_px, frame.height_px, frame.jpeg) == (64, 48, b"jpeg")
    assert (frame.reason, frame.motion) == (KeepReason.MOTION, 0.1)
    assert await bench.window.fetch([frame.ref]) == (frame,)


async def test_without_an_encoder_frames_are_pictures_only() -> None:
    bench = Bench()
    async with bench.running(encoder=False):
        await bench.send(NOON_US)
    (frame,) = bench.stored
    assert split_frame_ref(frame.ref).encoder == "jpeg"
    assert frame.features is None
    assert bench.encoder.calls == 0


async def test_frames_are_numbered_from_zero() -> None:
    bench = Bench()
    async with bench.running():
        await bench.send(NOON_US, NOON_US + 1, NOON_US + 2)
    assert [frame.seq for frame in bench.stored] == [0, 1, 2]


async def test_numbers_go_on_after_a_reconnect_of_the_same_life() -> None:
    bench = Bench()
    async with bench.running():
        await bench.send(NOON_US, NOON_US + 1)
    bench.samples = Channel(4, Overflow.DROP_OLDEST)
    async with bench.running():
        await bench.send(NOON_US + 2)
    assert bench.stored[-1].seq == 2


async def test_numbers_go_on_even_where_every_frame_has_aged_out() -> None:
    bench = Bench()
    async with bench.running():
        await bench.send(NOON_US, NOON_US + 1)
    await bench.window.trim(GATE, before_us=NOON_US + 2)
    bench.samples = Channel(4, Overflow.DROP_OLDEST)
    async with bench.running():
        await bench.send(NOON_US + 2)
    assert bench.stored[-1].seq == 2
    assert bench.stored[-1].tenths


async def test_the_first_number_can_be_given() -> None:
    bench = Bench()
    async with bench.running(first_seq=40):
        await bench.send(NOON_US)
    assert bench.stored[0].seq == 40


async def test_tenths_are_needed_where_the_frame_before_lies_in_the_same_second() -> None:
    bench = Bench()
    async with bench.running():
        await bench.send(
            NOON_US,
            NOON_US + SECOND_US - 1,
            NOON_US + SECOND_US,
            NOON_US + 3 * SECOND_US,
            NOON_US + 3_100_000,
        )
    assert [frame.tenths for frame in bench.stored] == [False, True, False, False, True]


async def test_the_delay_from_stream_time_is_observed() -> None:
    bench = Bench()
    bench.clock.advance(250_000)
    async with bench.running():
        await bench.send(NOON_US)
    assert bench.meter.observed[Metric.GLASS_SECONDS, ()] == [0.25]


async def test_a_frame_whose_encoding_fails_is_stored_without_features(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    async with bench.running():
        bench.encoder.fail = True
        await bench.send(NOON_US)
        bench.encoder.fail = False
        await bench.send(NOON_US + 1)
    failed, fine = bench.stored
    assert (failed.features, split_frame_ref(failed.ref).encoder) == (None, "jpeg")
    assert fine.features is not None
    assert [failed.seq, fine.seq] == [0, 1]
    assert bench.meter.total(Metric.ENCODE_FAILURES) == 1


async def test_a_picture_the_encoder_knows_nothing_of_is_stored_without_features_and_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    async with bench.running():
        bench.encoder.answer = lambda: None
        await bench.send(NOON_US)
        bench.encoder.answer = None
        await bench.send(NOON_US + 1)
    foreign, own = bench.stored
    assert (foreign.features, split_frame_ref(foreign.ref).encoder) == (None, "jpeg")
    assert own.features is not None
    assert bench.meter.total(Metric.FOREIGN_FRAMES) == 1
    assert bench.meter.total(Metric.ENCODE_FAILURES) == 0
    assert caplog.records == []


async def test_a_fault_of_every_frame_is_logged_once_a_second_with_its_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    bench.encoder.fail = True
    with caplog.at_level(logging.WARNING, logger="featcache.fill"):
        async with bench.running():
            await bench.send(*range(NOON_US, NOON_US + 5))
            assert len(caplog.records) == 1
            bench.clock.advance(SECOND_US)
            await bench.send(NOON_US + 5)
    assert [record.__dict__["times"] for record in caplog.records] == [1, 5]
    assert "the engine is down" in caplog.records[-1].__dict__["cause"]
    assert caplog.records[-1].__dict__["camera_id"] == GATE


def not_finite() -> Features:
    bits = np.full((4, 8), 0x7FC0, dtype="<u2")
    base = features_of()
    return Features(bits.tobytes(), base.dtype, base.shape, base.grid, base.encoder_version)


@pytest.mark.parametrize("answer", [not_finite, lambda: features_of(version="f" * 12)])
async def test_features_that_are_not_what_they_claim_are_not_stored(answer) -> None:
    bench = Bench()
    bench.encoder.answer = answer
    async with bench.running():
        await bench.send(NOON_US)
    assert bench.stored[0].features is None
    assert bench.meter.total(Metric.ENCODE_FAILURES) == 1


async def test_a_slow_encoder_costs_samples_and_not_latency() -> None:
    bench = Bench(capacity=2)
    bench.encoder.gate.clear()
    async with bench.running():
        bench.samples.send_nowait(sample_of(NOON_US))
        await until(lambda: bench.encoder.calls == 1)
        for t_us in range(NOON_US + 1, NOON_US + 101):  # a hundred more while it works on the first
            bench.samples.send_nowait(sample_of(t_us))
        bench.encoder.gate.set()
        await until(lambda: len(bench.stored) == 3)
    assert [frame.t_us for frame in bench.stored] == [NOON_US, NOON_US + 99, NOON_US + 100]
    assert [frame.seq for frame in bench.stored] == [0, 1, 2]
    assert bench.samples.statistics().dropped == 98


async def test_a_frame_the_window_cannot_take_is_dropped_and_counted() -> None:
    bench = Bench(settings=Settings(pool_budget_bytes=2_000))
    async with bench.running(encoder=False):
        bench.samples.send_nowait(sample_of(NOON_US, jpeg=b"x" * 3_000))
        await until(lambda: bench.meter.total(Metric.FRAMES_DROPPED) == 1)
        await bench.send(NOON_US + 1)
    assert [frame.seq for frame in bench.stored] == [0]


async def test_a_window_that_is_away_for_a_moment_costs_its_frames_only() -> None:
    class Flaky(MemoryPool):
        away = True

        async def put(self, frame, *, incarnation) -> None:
            if self.away:
                raise WindowUnavailable(frame.camera_id)
            await super().put(frame, incarnation=incarnation)

    bench = Bench()
    bench.window = window = Flaky(Settings(), meter=NullMeter())
    async with bench.running():
        bench.samples.send_nowait(sample_of(NOON_US))
        await until(lambda: bench.meter.total(Metric.FRAMES_DROPPED) == 1)
        window.away = False
        await bench.send(NOON_US + 1)
    assert len(await window.index(GATE, EVER)) == 1


async def test_it_ends_with_the_named_error_when_the_camera_is_registered_anew() -> None:
    bench = Bench()
    await bench.window.open_camera(GATE, FIRST_LIFE)
    filling = asyncio.create_task(
        fill(
            bench.samples,
            bench.window,
            camera_id=GATE,
            incarnation=FIRST_LIFE,
            encoder=None,
            clock=bench.clock,
            meter=bench.meter,
            on_stored=bench.stored.append,
        )
    )
    await bench.send(NOON_US)
    await bench.window.open_camera(GATE, SECOND_LIFE)
    bench.samples.send_nowait(sample_of(NOON_US + 1))
    with pytest.raises(StaleIncarnation):
        await filling


async def test_a_camera_that_was_never_opened_is_named() -> None:
    bench = Bench()
    with pytest.raises(UnknownCamera):
        await fill(
            bench.samples,
            bench.window,
            camera_id=GATE,
            incarnation=FIRST_LIFE,
            encoder=None,
            clock=bench.clock,
            meter=bench.meter,
        )


async def test_cancelled_while_encoding_it_leaves_whole_frames_only() -> None:
    bench = Bench()
    await bench.window.open_camera(GATE, FIRST_LIFE)
    bench.encoder.gate.clear()
    task = asyncio.create_task(
        fill(
            bench.samples,
            bench.window,
            camera_id=GATE,
            incarnation=FIRST_LIFE,
            encoder=bench.encoder,
            clock=bench.clock,
            meter=bench.meter,
        )
    )
    bench.samples.send_nowait(sample_of(NOON_US))
    await until(lambda: bench.encoder.calls == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await bench.window.head(GATE)).frames == 0


async def test_no_picture_is_held_while_it_waits_for_the_next_sample() -> None:
    bench = Bench()
    picture = ArrayPicture(np.zeros((48, 64), np.uint8))
    gone = weakref.ref(picture)
    async with bench.running():
        bench.samples.send_nowait(Sample(GATE, NOON_US, 0, KeepReason.FIRST, 0.0, picture, b"jpeg"))
        del picture
        await until(lambda: len(bench.stored) == 1)
        await asyncio.sleep(0)
        gc.collect()
        assert gone() is None
