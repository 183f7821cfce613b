"""Which frames are kept, and why."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.frames import KeepReason
from sampler.gate import SECOND_US, MotionGate

HEARTBEAT_US = 2_000_000
streams = st.lists(
    st.tuples(st.integers(1, 700_000), st.booleans(), st.booleans()), min_size=1, max_size=200
).map(lambda rows: [(sum(r[0] for r in rows[: n + 1]), r[1], r[2]) for n, r in enumerate(rows)])


def gate() -> MotionGate:
    return MotionGate(per_s=4, heartbeat_us=HEARTBEAT_US)


def kept(rows: list[tuple[int, bool, bool]]) -> list[tuple[int, KeepReason]]:
    under_test, found = gate(), []
    for t_us, moving, changed in rows:
        reason = under_test.push(t_us, moving=moving, scene_changed=changed)
        if reason is not None:
            found.append((t_us, reason))
    return found


@given(streams)
def test_the_first_frame_is_kept_and_only_it_is_called_first(rows: list[tuple[int, bool, bool]]) -> None:
    found = kept(rows)
    assert found[0] == (rows[0][0], KeepReason.FIRST)
    assert all(reason is not KeepReason.FIRST for _, reason in found[1:])


@given(streams)
def test_no_second_holds_more_than_the_cap_for_motion_and_changes(rows: list[tuple[int, bool, bool]]) -> None:
    busy = [t for t, reason in kept(rows) if reason in (KeepReason.MOTION, KeepReason.SCENE_CHANGE)]
    for t_us in busy:
        assert sum(t_us <= other < t_us + SECOND_US for other in busy) <= 4


@given(streams)
def test_a_frame_two_seconds_after_the_last_kept_one_is_kept(rows: list[tuple[int, bool, bool]]) -> None:
    times = {t for t, _ in kept(rows)}
    last_us = rows[0][0]
    for t_us, _, _ in rows:
        if t_us in times:
            last_us = t_us
        assert t_us - last_us < HEARTBEAT_US


@given(streams)
def test_a_quiet_stream_keeps_heartbeats_only(rows: list[tuple[int, bool, bool]]) -> None:
    found = kept([(t, False, False) for t, _, _ in rows])
    assert {reason for _, reason in found[1:]} <= {KeepReason.HEARTBEAT}
    assert all(b[0] - a[0] >= HEARTBEAT_US for a, b in pairwise(found))


@given(st.integers(1_000_000, 9_000_000), st.integers(1, 400_000))
def test_the_first_moving_frame_after_quiet_is_kept_at_once(quiet_us: int, step_us: int) -> None:
    under_test, t_us = gate(), 0
    for _ in range(8):
        under_test.push(t_us, moving=True)
        t_us += 100_000
    end_us = t_us + quiet_us
    while t_us < end_us:  # heartbeats fall anywhere, also just before the arrival
        under_test.push(t_us, moving=False)
        t_us += step_us + 40_000
    assert under_test.push(end_us + 500_000, moving=True) is KeepReason.MOTION


def test_motion_at_common_frame_rates_is_kept_four_times_a_second() -> None:
    for rate in (10, 12.5, 25, 30):
        rows = [(round(n * 1e6 / rate), True, False) for n in range(int(rate * 20))]
        assert 78 <= len(kept(rows)) <= 81, rate


def test_after_a_reset_the_next_frame_is_first_again() -> None:
    under_test = gate()
    under_test.push(0, moving=False)
    under_test.reset()
    assert under_test.push(40_000, moving=False) is KeepReason.FIRST
