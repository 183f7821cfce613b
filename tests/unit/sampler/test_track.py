"""One thing that moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import Direction, Side
from sampler.blobs import Box
from sampler.track import MAX_POINTS, Sighting, Trail

WIDTH, HEIGHT = 160, 90


def sighting(n: int, x: float, y: float, *, side: float = 20, moving: int = 50) -> Sighting:
    """Return a square around (x, y), cut at the sides of the picture, 100 ms after the one before."""
    half = side / 2
    box = Box(max(0, x - half), max(0, y - half), min(WIDTH, x + half), min(HEIGHT, y + half))
    return Sighting(n * 100_000, box, max(1, int(box.area)), moving)


def trail(points: list[tuple[float, float]], *, moving: int = 50) -> Trail:
    found = Trail(sighting(0, *points[0]), width=WIDTH, height=HEIGHT)
    for n, (x, y) in enumerate(points[1:], start=1):
        found.see(sighting(n, x, y, moving=moving))
    return found


ACROSS = [(-8 + 8 * n, 45.0) for n in range(23)]
UPWARD = [(80.0, 98 - 5 * n) for n in range(21)]


@pytest.mark.parametrize(
    ("points", "entered", "left", "direction"),
    [
        (ACROSS, Side.LEFT, Side.RIGHT, Direction.RIGHT),
        (ACROSS[::-1], Side.RIGHT, Side.LEFT, Direction.LEFT),
        (UPWARD, Side.BOTTOM, Side.TOP, Direction.UP),
        (UPWARD[::-1], Side.TOP, Side.BOTTOM, Direction.DOWN),
        ([(60 + 3 * n, 45.0) for n in range(15)], None, None, Direction.RIGHT),
        (UPWARD[:12] + [(80 + 8 * n, 43.0) for n in range(11)], Side.BOTTOM, Side.RIGHT, Direction.RIGHT),
        (ACROSS[:8] + ACROSS[7::-1], Side.LEFT, Side.LEFT, None),
    ],
)
def test_sides_and_direction_follow_the_way_it_took(
    points: list[tuple[float, float]], entered: Side | None, left: Side | None, direction: Direction | None
) -> None:
    record = trail(points).record(open_=False, end_us=len(points) * 100_000, gone=True)
    assert (record.entered, record.left, record.direction) == (entered, left, direction)


def test_a_fast_thing_first_seen_away_from_the_side_came_in_by_it() -> None:
    record = trail([(30 + 40 * n, 45.0) for n in range(4)]).record(open_=False, end_us=300_000, gone=True)
    assert (record.entered, record.left) == (Side.LEFT, Side.RIGHT)


def test_somebody_who_stands_at_the_edge_from_the_start_did_not_come_in_by_it() -> None:
    record = trail([(80.0, 8.0)] * 30).record(open_=True, end_us=2_900_000)
    assert (record.entered, record.left, record.direction) == (None, None, None)


def test_what_is_still_seen_has_not_left() -> None:
    assert trail(ACROSS).record(open_=False, end_us=2_200_000, gone=False).left is None


def test_size_is_the_largest_share_and_the_path_stays_short_and_whole() -> None:
    long = trail([(20 + n * 0.1, 45.0) for n in range(1000)])
    record = long.record(open_=True, end_us=99_900_000)
    assert record.size == pytest.approx(400 / (160 * 90))
    assert len(record.path) == MAX_POINTS
    assert (record.path[0].t_us, record.path[-1].t_us) == (0, 99_900_000)


def test_what_was_left_lying_when_the_rest_has_gone_is_dropped() -> None:
    reaching = Trail(Sighting(0, Box(60, 0, 80, 30), 600, 100), width=WIDTH, height=HEIGHT)
    for n in range(1, 8):  # in from the top, down to the table
        reaching.see(Sighting(n * 100_000, Box(60, 0, 80, 30 + 5 * n), 600 + 100 * n, 100))
    for n in range(8, 14):  # the thing put down stays
        lies = Sighting(n * 100_000, Box(62, 50, 76, 66), 200, 0)
        assert not reaching.drop_what_lies(n * 100_000 - 100_000)
        reaching.see(lies)
        if n * 100_000 - reaching.last_moving.t_us >= 400_000:
            break
    assert reaching.drop_what_lies(n * 100_000)
    record = reaching.record(open_=False, end_us=reaching.last.t_us, gone=True)
    assert (record.end_us, record.left, record.direction) == (700_000, Side.TOP, None)


def test_somebody_who_comes_in_and_stops_is_not_dropped() -> None:
    visitor = trail([(80.0, 98 - 4 * n) for n in range(14)])
    for n in range(14, 60):
        visitor.see(sighting(n, 80, 46, moving=0))
        assert not visitor.drop_what_lies(n * 100_000)


@given(st.lists(st.tuples(st.floats(-20, 180), st.floats(-20, 110)), min_size=2, max_size=60), st.booleans())
def test_every_record_is_well_formed(points: list[tuple[float, float]], open_: bool) -> None:
    inside = [(min(max(x, 1), 159), min(max(y, 1), 89)) for x, y in points]
    record = trail(inside).record(open_=open_, end_us=(len(points) - 1) * 100_000, gone=not open_)
    assert 0 < record.size <= 1
    assert 1 <= len(record.path) <= MAX_POINTS
    assert all(0 <= p.x <= 1 and 0 <= p.y <= 1 for p in record.path)
    assert [p.t_us for p in record.path] == sorted(p.t_us for p in record.path)
    assert record.start_us <= record.end_us
