"""From a stream's own clock to stream time."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from core.records import EpochClock
from ingest.streamtime import Arrival, Rising, Stamped, StreamTime

NOW = 1_700_000_000_000_000
MICRO = Fraction(1, 1_000_000)


def packets(times_us: list[int | None], arrivals_us: list[int]) -> list[Arrival[int]]:
    return [Arrival(n, t, t, NOW + a) for n, (t, a) in enumerate(zip(times_us, arrivals_us, strict=True))]


def run(time: StreamTime[int], arrivals: list[Arrival[int]]) -> list[Stamped[int]]:
    return [stamped for arrival in arrivals for stamped in time.push(arrival)] + time.flush()


def ages(stamped: list[Stamped[int]]) -> list[int]:
    return [s.t_us - NOW for s in stamped if s.t_us is not None]


def test_a_burst_after_opening_is_placed_before_now() -> None:
    # 50 frames wait in the probe, then come at once; the rest at its own pace.
    arrivals = [1000 * n if n < 50 else 49_000 + (n - 49) * 40_000 for n in range(100)]
    stamped = run(StreamTime(MICRO, floor_us=None), packets([n * 40_000 for n in range(100)], arrivals))
    assert [s.packet for s in stamped] == list(range(100))
    t = ages(stamped)
    assert all(b - a == 40_000 for a, b in itertools.pairwise(t))
    assert t[99] == arrivals[99]
    assert t[0] == 49_000 - 49 * 40_000


def test_frames_come_out_as_soon_as_they_arrive_at_their_own_pace() -> None:
    time = StreamTime[int](MICRO, floor_us=None)
    out = [
        len(time.push(a)) for a in packets([n * 100_000 for n in range(6)], [n * 100_000 for n in range(6)])
    ]
    assert out == [0, 0, 0, 4, 1, 1]


def test_nothing_is_held_longer_than_a_second() -> None:
    time = StreamTime[int](MICRO, floor_us=None)
    out = [
        len(time.push(a)) for a in packets([n * 600_000 for n in range(4)], [n * 600_000 for n in range(4)])
    ]
    assert out == [0, 0, 3, 1]


def test_the_smallest_difference_of_the_first_second_wins_slowly() -> None:
    # Released at the fourth packet; the sixth proves that all was 30 ms late.
    arrivals = [n * 100_000 + 30_000 for n in range(5)] + [n * 100_000 for n in range(5, 60)]
    t = ages(run(StreamTime(MICRO, floor_us=None), packets([n * 100_000 for n in range(60)], arrivals)))
    steps = [b - a for a, b in itertools.pairwise(t)]
    assert min(steps) >= 95_000
    assert t[-1] == arrivals[-1]


def test_an_epoch_begins_after_what_is_stored() -> None:
    floor_us = NOW + 700_000
    stamped = run(
        StreamTime(MICRO, floor_us=floor_us),
        packets([n * 40_000 for n in range(30)], [n * 40_000 for n in range(30)]),
    )
    assert stamped[0].t_us == floor_us + 1


def test_a_stream_without_times_runs_on_arrival_the_first_packets_too() -> None:
    time = StreamTime[int](MICRO, floor_us=None)
    arrivals = [n * 20_000 for n in range(40)]
    stamped = run(time, packets([None] * 40, arrivals))
    assert time.clock is EpochClock.ARRIVAL
    assert ages(stamped) == arrivals


def test_a_slow_stream_without_times_is_decided_after_a_second() -> None:
    time = StreamTime[int](MICRO, floor_us=None)
    out = [len(time.push(a)) for a in packets([None] * 4, [0, 500_000, 1_000_000, 1_500_000])]
    assert out == [0, 0, 3, 1]


def test_a_raw_demuxer_runs_on_arrival_from_the_first_packet_whatever_it_claims() -> None:
    time = StreamTime[int](MICRO, floor_us=None, has_clock=False)
    stamped = [time.push(a) for a in packets([n * 40_000 for n in range(5)], [n * 100_000 for n in range(5)])]
    assert [len(one) for one in stamped] == [1] * 5
    assert ages([one[0] for one in stamped]) == [n * 100_000 for n in range(5)]


def test_a_packet_without_a_time_in_an_epoch_of_times_has_none() -> None:
    times: list[int | None] = [n * 100_000 for n in range(12)]
    times[0] = times[7] = None
    stamped = run(StreamTime(MICRO, floor_us=None), packets(times, [n * 100_000 for n in range(12)]))
    assert [s.packet for s in stamped if s.t_us is None] == [0, 7]
    assert ages(stamped) == [n * 100_000 for n in range(12) if n not in (0, 7)]


def test_a_clock_that_starts_over_goes_on_in_stream_time() -> None:
    times: list[int | None] = [n * 100_000 for n in range(50)] * 2
    arrivals = [n * 100_000 for n in range(100)]
    stamped = run(StreamTime(MICRO, floor_us=None), packets(times, arrivals))
    assert [s.packet for s in stamped if s.restarted] == [50]
    assert ages(stamped) == arrivals


def test_a_clock_that_starts_over_within_the_first_packets_is_noticed() -> None:
    times: list[int | None] = [5_000_000, 5_100_000, 0, 100_000, 200_000, 300_000]
    stamped = run(StreamTime(MICRO, floor_us=None), packets(times, [n * 100_000 for n in range(6)]))
    assert [s.packet for s in stamped] == list(range(6))
    t = ages(stamped)
    assert t == sorted(t)
    assert max(t) <= 500_001


def test_a_clock_that_leaps_ahead_of_now_has_started_over() -> None:
    times: list[int | None] = [n * 100_000 + (3_600_000_000 if n >= 10 else 0) for n in range(20)]
    arrivals = [n * 100_000 for n in range(20)]
    stamped = run(StreamTime(MICRO, floor_us=None), packets(times, arrivals))
    assert [s.packet for s in stamped if s.restarted] == [10]
    assert ages(stamped) == arrivals


def test_a_hole_that_took_its_time_is_no_new_start() -> None:
    at = [n * 100_000 + (7_000_000 if n >= 10 else 0) for n in range(20)]
    stamped = run(StreamTime(MICRO, floor_us=None), packets(list(at), at))
    assert not any(s.restarted for s in stamped)
    assert ages(stamped) == at


def test_a_stall_on_the_way_changes_nothing() -> None:
    # The network holds packets 20 to 60 back for four seconds, then brings them at once.
    arrivals = [n * 100_000 if n < 20 or n > 60 else 6_000_000 + n for n in range(100)]
    stamped = run(StreamTime(MICRO, floor_us=None), packets([n * 100_000 for n in range(100)], arrivals))
    assert not any(s.restarted for s in stamped)
    assert ages(stamped) == [n * 100_000 for n in range(100)]


def with_wall(shift_us: int, *, since: int = 20, count: int = 200) -> list[Arrival[int]]:
    return [
        Arrival(
            n, n * 40_000, n * 40_000, NOW + n * 40_000, NOW + n * 40_000 + shift_us if n >= since else None
        )
        for n in range(count)
    ]


def test_the_senders_wall_clock_moves_time_forward_at_once() -> None:
    t = ages(run(StreamTime(MICRO, floor_us=None), with_wall(300_000)))
    assert t[20] == 20 * 40_000  # one packet alone is not believed
    assert t[21] == 21 * 40_000 + 300_000


def test_the_senders_wall_clock_moves_time_back_by_running_slow() -> None:
    t = ages(run(StreamTime(MICRO, floor_us=None), with_wall(-100_000)))
    steps = [b - a for a, b in itertools.pairwise(t)]
    assert min(steps) == 38_000
    assert t[-1] == 199 * 40_000 - 100_000


def test_a_wall_clock_that_is_far_off_is_not_believed() -> None:
    t = ages(run(StreamTime(MICRO, floor_us=None), with_wall(5_100_000)))
    assert t == [n * 40_000 for n in range(200)]


def test_one_wrong_word_of_the_sender_is_not_believed() -> None:
    arrivals = with_wall(0, since=1000)
    odd = arrivals[30]
    arrivals[30] = Arrival(odd.packet, odd.pts, odd.dts, odd.arrival_us, odd.arrival_us + 400_000)
    t = ages(run(StreamTime(MICRO, floor_us=None), arrivals))
    assert t == [n * 40_000 for n in range(200)]


@given(
    packets=st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(-(1 << 33), 1 << 33)),  # anything a demuxer may say
            st.integers(0, 2_000_000),  # since the last arrival
            st.one_of(st.none(), st.integers(-10_000_000, 10_000_000)),  # sender's clock less ours
        ),
        max_size=80,
    ),
    floor=st.one_of(st.none(), st.integers(-10_000_000, 10_000_000)),
    has_clock=st.booleans(),
)
def test_whatever_comes_in_comes_out_once_in_order_and_rising(
    packets: list[tuple[int | None, int, int | None]], floor: int | None, has_clock: bool
) -> None:
    floor_us = None if floor is None else NOW + floor
    time = StreamTime[int](Fraction(1, 90_000), floor_us=floor_us, has_clock=has_clock)
    rising = Rising(floor_us)
    now, out = NOW, []
    for n, (ticks, waited, wall) in enumerate(packets):
        now += waited
        out += time.push(Arrival(n, ticks, ticks, now, None if wall is None else now + wall))
    out += time.flush()
    assert [s.packet for s in out] == list(range(len(packets)))
    handed_out = [rising.next(s.t_us) for s in out if s.t_us is not None]
    assert all(a < b for a, b in itertools.pairwise(handed_out))
    if floor_us is not None:
        assert all(t > floor_us for t in handed_out)


@given(
    steps=st.lists(st.integers(1, 500_000), min_size=1, max_size=60),
    delays=st.lists(st.integers(0, 900_000), min_size=61, max_size=61),
)
def test_steps_are_never_shortened_by_more_than_a_twentieth(steps: list[int], delays: list[int]) -> None:
    times = [0]
    for step in steps:
        times.append(times[-1] + step)
    arrivals, at = [], 0
    for t, delay in zip(times, delays, strict=False):
        at = max(at, t + delay)
        arrivals.append(at)
    t = ages(run(StreamTime(MICRO, floor_us=None), packets(list(times), arrivals)))
    for before, after, step in zip(t, t[1:], steps, strict=False):
        assert step - step * 5 // 100 <= after - before <= step


def test_equal_times_leave_a_microsecond_apart() -> None:
    rising = Rising(floor_us=None)
    assert [rising.next(t) for t in (5, 5, 4, 9)] == [5, 6, 7, 9]
