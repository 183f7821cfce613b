"""Whether Redis takes what is published, since when, and how far its clock is from ours."""

import logging
from dataclasses import dataclass

from core.clock import Clock
from core.meter import Meter, Metric
from featcache.redis_link import Fault

logger = logging.getLogger(__name__)


def ok_in_words(clock_offset_us: int | None) -> str:
    """Return one line about a Redis that answers, with how far its clock is from ours where that was measured."""
    return "ok" if clock_offset_us is None else f"ok, its clock is {clock_offset_us / 1e6:+.3f} s from ours"


@dataclass(frozen=True, slots=True)
class RedisHealth:
    """A snapshot.

    Attributes:
        up: The last write was taken.
        fault: Why not; None while it is up, and before the first write.
        since_us: Wall time of the last change.
        outages: How often it stopped taking writes.
        clock_offset_us: Redis ``TIME`` less service time, half the way there taken off; None before it was measured.
    """

    up: bool
    fault: Fault | None
    since_us: int
    outages: int
    clock_offset_us: int | None

    def in_words(self) -> str:
        """Return one line for people."""
        if self.up:
            return ok_in_words(self.clock_offset_us)
        if self.fault is None:
            return "not reached yet"
        return f"degraded: {self.fault.in_words()}; the pool serves meanwhile"


class RedisState:
    """Kept by the publisher. Says each change once, however often a write fails in between."""

    def __init__(self, *, clock: Clock, meter: Meter) -> None:
        self._clock = clock
        self._meter = meter
        self._health = RedisHealth(False, None, clock.now_us(), 0, None)
        meter.gauge(Metric.REDIS_UP, 0)

    @property
    def health(self) -> RedisHealth:
        """Return how it is now."""
        return self._health

    def works(self) -> None:
        """Note that a write was taken."""
        if not self._health.up:
            logger.info("Redis takes what is published", extra={"fault_before": self._health.fault})
            self._change(up=True, fault=None, outages=self._health.outages)

    def failed(self, fault: Fault | None, cause: BaseException | None) -> None:
        """Note that it did not take a write."""
        fault = fault or Fault.OTHER
        if self._health.up or self._health.fault is None:
            logger.warning(
                "Redis does not take what is published; the pool goes on without it",
                extra={"fault": fault, "cause": f"{type(cause).__name__}: {cause}"},
            )
            self._meter.count(Metric.REDIS_OUTAGES, fault=fault)
            self._change(up=False, fault=fault, outages=self._health.outages + 1)
        elif fault is not self._health.fault:
            self._change(up=False, fault=fault, outages=self._health.outages)

    def time(self, redis_us: int, *, asked_us: int, answered_us: int) -> None:
        """Take over what Redis said of the time between two moments of ours."""
        offset_us = redis_us - (asked_us + answered_us) // 2
        health = self._health
        self._health = RedisHealth(health.up, health.fault, health.since_us, health.outages, offset_us)
        self._meter.gauge(Metric.REDIS_CLOCK_OFFSET_SECONDS, offset_us / 1e6)

    def _change(self, *, up: bool, fault: Fault | None, outages: int) -> None:
        self._health = RedisHealth(up, fault, self._clock.now_us(), outages, self._health.clock_offset_us)
        self._meter.gauge(Metric.REDIS_UP, int(up))
