import time

import pytest

from core.clock import Clock, ManualClock, ServiceClock

SECOND_US = 1_000_000
START_US = 1_700_000_000_000_000


class Host:
    """The host's two clocks, moved by hand."""

    def __init__(self) -> None:
        self.wall_us = START_US
        self.mono_us = 5_000_000

    def pass_us(self, us: int) -> None:
        """Let time pass as it should."""
        self.wall_us += us
        self.mono_us += us

    def step_us(self, us: int) -> None:
        """Set the host's wall clock."""
        self.wall_us += us


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host()
    monkeypatch.setattr(time, "time_ns", lambda: host.wall_us * 1_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: host.mono_us * 1_000)
    return host


def test_service_time_starts_at_wall_time_and_goes_on_with_it(host: Host) -> None:
    clock = ServiceClock()
    assert (clock.now_us(), clock.mono_us()) == (START_US, 0)
    host.pass_us(7)
    assert (clock.now_us(), clock.mono_us()) == (START_US + 7, 7)


@pytest.mark.parametrize("step_us", [3_600 * SECOND_US, -3_600 * SECOND_US])
def test_a_step_of_the_hosts_clock_changes_no_age(host: Host, step_us: int) -> None:
    clock = ServiceClock()
    seen_us = clock.now_us()
    host.pass_us(20 * SECOND_US)
    host.step_us(step_us)
    assert clock.now_us() - seen_us == 20 * SECOND_US
    assert clock.host_step_us() == step_us


def test_a_step_there_and_back_leaves_nothing(host: Host) -> None:
    clock = ServiceClock()
    host.pass_us(20 * SECOND_US)
    host.step_us(3_600 * SECOND_US)
    clock.host_step_us()
    host.pass_us(20 * SECOND_US)
    host.step_us(-3_600 * SECOND_US)
    host.pass_us(120 * SECOND_US)
    assert clock.host_step_us() == 0
    assert clock.adopt_step() == 0
    assert clock.now_us() == START_US + 160 * SECOND_US


def test_a_forward_step_is_adopted_once_it_has_lasted_a_minute(host: Host) -> None:
    clock = ServiceClock()
    host.step_us(3_600 * SECOND_US)
    assert clock.adopt_step() == 0
    host.pass_us(60 * SECOND_US - 1)
    assert clock.adopt_step() == 0
    host.pass_us(1)
    before_us = clock.now_us()
    assert clock.adopt_step() == 3_600 * SECOND_US
    assert clock.now_us() == before_us + 3_600 * SECOND_US == host.wall_us
    assert clock.adopt_step() == 0


def test_a_backward_step_is_never_adopted(host: Host) -> None:
    clock = ServiceClock()
    host.step_us(-3_600 * SECOND_US)
    for _ in range(5):
        before_us = clock.now_us()
        assert clock.adopt_step() == 0
        assert clock.now_us() >= before_us
        host.pass_us(60 * SECOND_US)


def test_a_small_drift_is_no_step(host: Host) -> None:
    clock = ServiceClock()
    host.step_us(ServiceClock.NOTICE_US - 1)
    clock.host_step_us()
    host.pass_us(120 * SECOND_US)
    assert clock.adopt_step() == 0


def test_a_forward_step_that_went_away_starts_counting_anew(host: Host) -> None:
    clock = ServiceClock()
    host.step_us(10 * SECOND_US)
    clock.host_step_us()
    host.pass_us(50 * SECOND_US)
    host.step_us(-10 * SECOND_US)
    clock.host_step_us()
    host.step_us(10 * SECOND_US)
    clock.host_step_us()
    host.pass_us(50 * SECOND_US)
    assert clock.adopt_step() == 0


def test_the_real_clock_never_goes_back() -> None:
    clock: Clock = ServiceClock()
    times = [clock.now_us() for _ in range(1_000)]
    assert times == sorted(times)
    assert abs(times[-1] - time.time_ns() // 1_000) < 60 * SECOND_US


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(START_US)
    assert (clock.now_us(), clock.mono_us()) == (START_US, 0)
    clock.advance(5)
    assert (clock.now_us(), clock.mono_us()) == (START_US + 5, 5)
