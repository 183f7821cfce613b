"""What moved: things and activities."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from core.records import ObjectTrack, Side
from core.spans import Span
from qa.measured_account import activities_of, most_at_once
from tests.support.measured_evidence import at, track

SPAN = Span(at(0), at(60))


def groups(*records: ObjectTrack, seen: float = 60) -> list[list[int]]:
    return [[t.number for t in a.things] for a in activities_of(records, SPAN, seen_us=at(seen))]


def test_things_that_overlap_or_follow_closely_are_one_activity() -> None:
    first, second, third = track(1, 5, number=1), track(4, 8, number=2), track(8.9, 12, number=3)
    assert groups(first, second, third) == [[1, 2, 3]]


def test_things_more_than_a_second_apart_are_two_activities() -> None:
    assert groups(track(1, 5, number=1), track(6.2, 8, number=2)) == [[1], [2]]


def test_what_lies_outside_the_span_is_left_out() -> None:
    assert groups(track(-9, -1, number=1), track(60, 70, number=2), track(-5, 2, number=3)) == [[3]]


def test_a_track_lost_and_found_again_in_its_place_is_one_thing() -> None:
    lost = track(1, 5, number=1, left=None, path=((0.0, 0.5), (0.5, 0.5)))
    found = track(6.5, 9, number=2, entered=None, left=Side.RIGHT, path=((0.55, 0.5), (1.0, 0.5)))
    (activity,) = activities_of([lost, found], SPAN, seen_us=at(60))
    (thing,) = activity.things
    assert (thing.start_us, thing.end_us, thing.entered, thing.left) == (at(1), at(9), Side.LEFT, Side.RIGHT)


def test_a_track_found_elsewhere_is_another_thing() -> None:
    lost = track(1, 5, number=1, left=None, path=((0.0, 0.5), (0.2, 0.5)))
    other = track(5.5, 9, number=2, entered=None, path=((0.8, 0.5), (1.0, 0.5)))
    assert groups(lost, other) == [[1, 2]]


def test_a_small_piece_of_something_followed_at_the_same_place_is_left_out() -> None:
    whole = track(1, 9, number=1, size=0.2, path=((0.4, 0.5), (0.5, 0.5), (0.6, 0.5)))
    piece = track(4, 6, number=2, size=0.02, path=((0.45, 0.4), (0.5, 0.4)))
    apart = track(4, 6, number=3, size=0.02, path=((0.9, 0.1), (0.95, 0.1)))
    assert groups(whole, piece, apart) == [[1, 3]]


def test_an_open_track_last_seen_long_ago_counts_as_ended() -> None:
    (activity,) = activities_of([track(1, 9, open_=True)], SPAN, seen_us=at(50))
    assert not activity.open
    (activity,) = activities_of([track(1, 49, open_=True)], SPAN, seen_us=at(50))
    assert activity.open


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0.1, 9)), max_size=20))
def test_activities_are_in_order_apart_and_lose_no_time(rows: list[tuple[float, float]]) -> None:
    tracks = [track(start, start + length, number=n) for n, (start, length) in enumerate(rows)]
    found = activities_of(tracks, SPAN, seen_us=at(60))
    assert sum(len(a.things) for a in found) == len(tracks)
    assert all(b.start_us - a.end_us > 1_000_000 for a, b in pairwise(found))
    assert max((t.end_us for t in tracks), default=0) == max((a.end_us for a in found), default=0)


def test_the_most_at_once_counts_overlaps() -> None:
    assert most_at_once([]) == 0
    assert most_at_once([track(0, 5), track(1, 3), track(2, 8), track(5, 9)]) == 3
