"""An outage is said once, counted by its cause, and over when a write is taken."""

import logging

import pytest

from core.clock import ManualClock
from core.meter import Metric, TallyMeter
from featcache.redis_link import Fault
from featcache.redis_state import RedisState


def test_an_outage_is_said_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    clock, meter = ManualClock(), TallyMeter()
    state = RedisState(clock=clock, meter=meter)
    assert state.health.in_words() == "not reached yet"
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            state.failed(Fault.AWAY, OSError("refused"))
        state.failed(Fault.LOADING, OSError("loading"))
        clock.advance(10)
        state.works()
        state.works()
    assert len(caplog.records) == 2
    assert (state.health.up, state.health.fault, state.health.outages) == (True, None, 1)
    assert state.health.since_us == clock.now_us()
    assert meter.counts == {(Metric.REDIS_OUTAGES, (("fault", "away"),)): 1}
    assert meter.gauges[Metric.REDIS_UP, ()] == 1


def test_what_is_said_names_the_fault_of_the_moment() -> None:
    state = RedisState(clock=ManualClock(), meter=TallyMeter())
    state.failed(Fault.AWAY, OSError("refused"))
    state.failed(Fault.READ_ONLY, OSError("read only"))
    assert state.health.in_words() == (
        "degraded: Redis takes no writes: it is a replica, or was set so; the pool serves meanwhile"
    )


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_words_of_its_own(fault: Fault) -> None:
    assert [other for other in Fault if other.in_words() == fault.in_words()] == [fault]


def test_half_the_way_to_redis_is_taken_off_the_difference_of_clocks() -> None:
    meter = TallyMeter()
    state = RedisState(clock=ManualClock(), meter=meter)
    state.time(2_500_050, asked_us=1_000_000, answered_us=1_000_100)
    state.works()
    assert state.health.clock_offset_us == 1_500_000
    assert meter.gauges[Metric.REDIS_CLOCK_OFFSET_SECONDS, ()] == 1.5
    assert state.health.in_words() == "ok, its clock is +1.500 s from ours"
