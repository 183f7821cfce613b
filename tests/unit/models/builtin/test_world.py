import math
from collections import Counter

import pytest

from models.builtin.things import MOST_OBJECTS, RADIUS_RANGE
from models.builtin.world import SECOND_US, World


def _world(seed: int) -> World:
    return World(seed, width_px=640, height_px=360)


def test_a_seed_gives_one_world_in_however_many_steps_it_is_advanced() -> None:
    at_once, in_steps = _world(7), _world(7)
    for second in range(1, 60):
        in_steps.advance(second * SECOND_US)
    assert at_once.truth(60 * SECOND_US) == in_steps.truth(60 * SECOND_US)
    assert _world(8).truth(60 * SECOND_US) != at_once.truth(60 * SECOND_US)


@pytest.mark.parametrize("seed", range(6))
def test_objects_never_cover_one_another_and_are_never_too_many(seed: int) -> None:
    truth = _world(seed).truth(60 * SECOND_US)
    for t_us in range(0, truth.duration_us, 200_000):
        present = [thing for thing in truth.objects if thing.present(t_us)]
        assert len(present) <= MOST_OBJECTS
        spots = [(thing.spot(t_us), thing.radius) for thing in present]
        for number, (a, a_radius) in enumerate(spots):
            for b, b_radius in spots[:number]:
                apart = math.hypot((a.x - b.x) * 640 / 360, a.y - b.y)
                assert apart > a_radius + b_radius


def test_things_appear_move_and_leave_and_every_count_from_none_to_four_is_seen() -> None:
    counts: Counter[int] = Counter()
    came = moved = left = 0
    for seed in range(40):
        truth = _world(seed).truth(20 * SECOND_US)
        came += sum(thing.appears_us > 0 for thing in truth.objects)
        left += sum(thing.leaves_us is not None for thing in truth.objects)
        moved += sum(len(thing.path) > 1 for thing in truth.objects)
        counts.update(sum(thing.present(t * SECOND_US) for thing in truth.objects) for t in range(20))
        assert all(RADIUS_RANGE[0] <= thing.radius <= RADIUS_RANGE[1] for thing in truth.objects)
    assert min(came, moved, left) > 40
    assert set(counts) == set(range(MOST_OBJECTS + 1))
    assert min(counts.values()) > 40


def test_no_two_objects_of_a_scene_are_alike() -> None:
    for seed in range(10):
        looks = [(thing.colour, thing.shape) for thing in _world(seed).truth(60 * SECOND_US).objects]
        assert len(set(looks)) == len(looks)


def test_an_endless_world_forgets_what_left_long_ago() -> None:
    world = _world(2)
    for minute in range(1, 60):
        world.advance(minute * 60 * SECOND_US)
        world.forget(minute * 60 * SECOND_US)
    assert len(world.objects()) < 120
