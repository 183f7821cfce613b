"""The stage between frames and samples: awaits, hands over, counts."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from core.channel import Channel, ChannelClosed
from core.frames import Frame, Sample
from core.meter import Meter, Metric
from core.records import Record
from sampler.sampler import Pushed, Sampler

log = logging.getLogger(__name__)

FINISH_S = 5.0


async def select(
    frames: Channel[Frame],
    samples: Channel[Sample],
    *,
    sampler: Sampler,
    executor: Executor,
    on_record: Callable[[Record], None],
    meter: Meter,
) -> None:
    """Read ``frames`` until they end, send what is kept to ``samples``, and close it in any case.

    One hop to ``executor`` per frame, in order. Records go to ``on_record`` on the event loop, before the
    sample of the same frame; those still open are ended when the stage ends, cancelled or not. Where
    ``samples`` drops its oldest for load, or a picture cannot be written, that is counted.
    """
    loop = asyncio.get_running_loop()
    job: asyncio.Future[Pushed] | None = None
    try:
        async for frame in frames:
            job = loop.run_in_executor(executor, sampler.push, frame)
            pushed = await asyncio.shield(job)
            for record in pushed.records:
                on_record(record)
            if pushed.refused:
                meter.count(Metric.FRAMES_DROPPED, stage="sampler")
            if pushed.sample is not None:
                await _send(pushed.sample, samples, meter)
    finally:
        samples.close()
        if job is not None and not job.done():
            # Cancelled while a frame is being looked at: the sampler belongs to that thread until it is done.
            await asyncio.wait((job,), timeout=FINISH_S)
        if job is None or job.done():
            for record in sampler.finish():
                on_record(record)
        else:
            log.warning("a frame kept the sampler busy for too long", extra={"limit_s": FINISH_S})


async def _send(sample: Sample, samples: Channel[Sample], meter: Meter) -> None:
    dropped_before = samples.statistics().dropped
    try:
        await samples.send(sample)
    except ChannelClosed:
        log.info("nobody reads samples any more", extra={"camera": sample.camera_id})
        return
    meter.count(Metric.SAMPLES, reason=sample.reason.value)
    dropped = samples.statistics().dropped - dropped_before
    if dropped:
        meter.count(Metric.FRAMES_DROPPED, dropped, stage="sampler")
