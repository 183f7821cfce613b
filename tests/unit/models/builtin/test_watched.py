import pytest

from models.builtin.watched import Watched, Way
from tests.support.toy_scenes import scene, thing, watched


def test_nothing_can_be_known_of_no_frames() -> None:
    with pytest.raises(ValueError, match="no frames"):
        Watched(scene(), [])


def test_things_are_told_from_left_to_right() -> None:
    seen = watched(thing(1, at=(0.8, 0.5)), thing(2, at=(0.2, 0.5)))
    assert [found.number for found in seen.things()] == [2, 1]


def test_changes_of_one_frame_are_told_as_one_reads_whatever_they_are() -> None:
    low, high = thing(1, at=(0.5, 0.9), leaves_s=0.5), thing(2, "blue", at=(0.5, 0.1), comes_s=0.5)
    changes = watched(low, high).changes()
    assert [(change.thing.number, change.came, change.at) for change in changes] == [
        (2, True, 1),
        (1, False, 1),
    ]


def test_appearing_and_leaving_are_told_by_the_first_used_frame_that_shows_them() -> None:
    guest = thing(1, comes_s=0.5, leaves_s=2.5)
    stays = thing(2, "blue", at=(0.8, 0.5))
    seen = watched(guest, stays)
    assert (seen.appeared(guest), seen.left(guest)) == (1, 3)
    assert (seen.appeared(stays), seen.left(stays)) == (None, None)
    assert [(change.came, change.at) for change in seen.changes()] == [(True, 1), (False, 3)]


def test_what_comes_and_goes_between_two_used_frames_was_not_seen() -> None:
    assert watched(thing(1, comes_s=1.2, leaves_s=1.8)).ever() == ()


@pytest.mark.parametrize(
    ("to", "way"),
    [
        ((0.9, 0.5), Way.RIGHT),
        ((0.1, 0.5), Way.LEFT),
        ((0.5, 0.1), Way.UP),
        ((0.5, 0.9), Way.DOWN),
        ((0.5, 0.5), Way.NOWHERE),
        ((0.7, 0.85), None),
        ((0.53, 0.5), None),
    ],
)
def test_a_way_is_told_where_people_would_agree_on_it(to: tuple[float, float], way: Way | None) -> None:
    moving = thing(1, to=to)
    assert watched(moving).way(moving) is way


def test_a_thing_seen_once_has_no_way() -> None:
    moving = thing(1, to=(0.9, 0.5))
    assert watched(moving, frames_s=(2,)).way(moving) is None


def test_a_frame_with_something_half_in_is_murky() -> None:
    assert watched(thing(1, at=(0.0, 0.5))).murky()
    assert not watched(thing(1, at=(0.3, 0.5)), thing(2, at=(-0.5, 0.5))).murky()
