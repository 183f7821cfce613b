from hypothesis import given
from hypothesis import strategies as st

from featcache.budget import fair_level
from featcache.paged_share import FarTimes, who_goes
from tests.support.elsewhere import Elsewhere


def times(*held: tuple[int, int]) -> FarTimes:
    far = FarTimes()
    for t_us, pages in held:
        far.add(t_us, Elsewhere(bytes(pages * 16 - 3), page_bytes=16))
    return far


steps = st.lists(
    st.tuples(st.sampled_from(["add", "discard", "drop_before"]), st.integers(0, 30), st.integers(1, 9)),
    max_size=60,
)


@given(steps)
def test_whatever_comes_and_goes_the_sums_are_right(steps: list[tuple[str, int, int]]) -> None:
    far, model = FarTimes(), dict[int, int]()
    for what, t_us, pages in steps:
        if what == "add":
            far.discard(t_us)
            far.add(t_us, Elsewhere(bytes(pages * 16 - 3), page_bytes=16))
            model[t_us] = pages
        elif what == "discard":
            far.discard(t_us)
            model.pop(t_us, None)
        else:
            far.drop_before(t_us)
            model = {t: n for t, n in model.items() if t >= t_us}
        assert [far[n] for n in range(len(far))] == sorted(model)
        assert far.room_bytes == 16 * sum(model.values())
        assert far.size_bytes == far.room_bytes - 3 * len(model)
        assert all(t in far and far.room_of(t) == 16 * n for t, n in model.items())


def test_where_there_is_room_nobody_goes() -> None:
    assert who_goes({"a": times((1, 2))}, "a", 2, room_bytes=32, capacity_bytes=64) == []


def test_the_oldest_make_room_as_many_as_are_needed() -> None:
    held = {"a": times((1, 1), (2, 1), (3, 2))}
    assert who_goes(held, "a", 4, room_bytes=48, capacity_bytes=80) == [("a", 1), ("a", 2)]


def test_a_frame_older_than_all_there_stays_away_and_nobody_goes() -> None:
    assert who_goes({"a": times((5, 2), (6, 2))}, "a", 4, room_bytes=16, capacity_bytes=64) is None


def test_features_larger_than_all_pages_stay_away_and_nobody_goes() -> None:
    assert who_goes({"a": times((1, 2))}, "a", 2, room_bytes=80, capacity_bytes=64) is None


def test_a_camera_within_its_share_does_not_make_room_for_a_busy_one() -> None:
    held = {"quiet": times((1, 1)), "busy": times((5, 1), (6, 1), (7, 1))}
    assert who_goes(held, "busy", 8, room_bytes=16, capacity_bytes=64) == [("busy", 5)]


def test_what_was_lent_comes_back_when_its_owner_needs_it() -> None:
    held = {"new": times(), "busy": times((5, 1), (6, 1), (7, 1), (8, 1))}
    assert who_goes(held, "new", 3, room_bytes=16, capacity_bytes=64) == [("busy", 5)]


pieces = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=12, unique_by=lambda one: one[0])


@given(st.lists(pieces, min_size=1, max_size=4), st.integers(0, 40), st.integers(1, 8), st.integers(1, 40))
def test_the_new_frame_fits_afterwards_and_nobody_pays_below_the_fair_level(
    cameras: list[list[tuple[int, int]]], t_us: int, pages: int, capacity: int
) -> None:
    cameras[0] = [one for one in cameras[0] if one[0] != t_us]
    held = {n: times(*one) for n, one in enumerate(cameras)}
    going = who_goes(held, 0, t_us, room_bytes=16 * pages, capacity_bytes=16 * capacity)
    if going is None:
        return
    before = {n: far.room_bytes + (16 * pages if n == 0 else 0) for n, far in held.items()}
    level = fair_level(before.values(), 16 * capacity)
    left = dict(before)
    for camera, gone_us in going:
        assert left[camera] > level
        assert held[camera][0] == gone_us
        left[camera] -= held[camera].room_of(gone_us)
        held[camera].discard(gone_us)
    assert sum(left.values()) <= 16 * capacity or capacity * 16 >= sum(before.values())
    assert all(gone_us < t_us for camera, gone_us in going if camera == 0)
