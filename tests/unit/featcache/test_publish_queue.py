"""The publish queue is bounded, in order, and forgets a deleted camera."""

from core.records import StaticSpan
from featcache.publish_queue import PublishQueue, Waiting
from tests.support.windows import FIRST_LIFE, GATE, YARD


def test_what_came_first_is_taken_first_and_no_more_than_asked() -> None:
    queue = PublishQueue(10)
    items = [
        Waiting(GATE, FIRST_LIFE, 1),
        Waiting(GATE, FIRST_LIFE, StaticSpan(1, 2)),
        Waiting(YARD, FIRST_LIFE, 3),
    ]
    for item in items:
        assert queue.add(item) is None
    assert queue.take(2) == items[:2]
    assert queue.take(9) == items[2:]
    assert queue.take(1) == []


def test_a_full_queue_loses_its_oldest_and_says_whose_it_was() -> None:
    queue = PublishQueue(2)
    queue.add(Waiting(YARD, FIRST_LIFE, 1))
    queue.add(Waiting(GATE, FIRST_LIFE, 2))
    assert queue.add(Waiting(GATE, FIRST_LIFE, 3)) == YARD
    assert [waiting.item for waiting in queue.take(9)] == [2, 3]


def test_a_deleted_camera_waits_no_longer() -> None:
    queue = PublishQueue(9)
    queue.add(Waiting(YARD, FIRST_LIFE, 1))
    queue.add(Waiting(GATE, FIRST_LIFE, 2))
    queue.drop(YARD)
    assert len(queue) == 1
    assert queue.take(9)[0].camera_id == GATE
