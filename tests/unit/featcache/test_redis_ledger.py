"""Who gives way in Redis, and for how long a full server is believed."""

import pytest

from core.ids import CameraId
from featcache.redis_keys import LifeKeys
from featcache.redis_ledger import Ledger, Life, joined
from tests.support.windows import FIRST_LIFE, GATE, YARD


def ledger(budget_bytes: int, **held: tuple[int, int]) -> Ledger:
    """Return a ledger of cameras with ``(bytes, oldest time)`` each."""
    made = Ledger(budget_bytes)
    for name, (size_bytes, oldest_us) in held.items():
        life = Life(FIRST_LIFE, LifeKeys.of("livelens", CameraId(name), FIRST_LIFE), 1, 0.0)
        life.note(size_bytes, size_bytes // 10, str(oldest_us).encode())
        made.open(CameraId(name), life)
    return made


def test_what_fits_costs_nobody_anything() -> None:
    assert ledger(100, gate=(60, 1), yard=(40, 2)).next_payment(100) is None


def test_the_camera_above_the_fair_level_pays_down_to_it_its_oldest_first() -> None:
    payment = ledger(100, gate=(90, 5), yard=(30, 1)).next_payment(100)
    assert payment is not None
    assert (payment.camera_id, payment.free_bytes, payment.level_bytes) == (GATE, 20, 70)


def test_two_cameras_above_the_level_take_turns_by_age() -> None:
    payment = ledger(100, gate=(90, 5), yard=(90, 1)).next_payment(100)
    assert payment is not None
    assert (payment.camera_id, payment.limit_us) == (YARD, 5)


def test_a_camera_has_room_where_all_fits_or_while_it_is_below_its_share() -> None:
    held = ledger(100, gate=(80, 1), yard=(10, 1))
    assert held.has_room(YARD, 10, now_s=0)
    assert held.has_room(YARD, 40, now_s=0)  # the other one pays
    assert not held.has_room(YARD, 41, now_s=0)
    assert not held.has_room(GATE, 11, now_s=0)
    assert not held.has_room(CameraId("nobody"), 1, now_s=0)


def test_what_is_lent_is_taken_off_the_room_until_it_expires() -> None:
    held = ledger(100, gate=(80, 1))
    assert held.lend(20, now_s=0, until_s=30)
    assert not held.lend(10, now_s=0, until_s=30)  # a quarter at most
    assert held.room_bytes(1) == 80
    assert held.room_bytes(31) == 100
    assert held.lend(25, now_s=31, until_s=60)


def test_a_frame_larger_than_what_may_be_lent_is_lent_alone() -> None:
    held = ledger(100, gate=(80, 1))
    assert not held.lend(101, now_s=0, until_s=30)
    assert held.lend(60, now_s=0, until_s=30)
    assert not held.lend(1, now_s=1, until_s=30)


def test_a_full_server_is_believed_for_half_a_minute() -> None:
    held = ledger(1000, gate=(80, 1))
    assert held.full(30, now_s=0) == 50
    assert held.room_bytes(10) == 50
    assert not held.has_room(GATE, 1, now_s=10)
    assert held.room_bytes(31) == 1000


def test_a_lost_life_holds_nothing() -> None:
    held = ledger(100, gate=(80, 1))
    life = held.get(GATE)
    assert life is not None
    life.lost()
    assert (held.size_bytes, held.frames, list(held)) == (0, 0, [GATE])
    held.close(GATE)
    assert list(held) == []


@pytest.mark.parametrize(
    ("sizes", "count"), [([], 0), ([500], 1), ([10] * 9, 8), ([60, 60, 60], 1), ([40, 40, 40], 2)]
)
def test_a_batch_is_one_frame_at_least_and_within_both_limits(sizes: list[int], count: int) -> None:
    assert joined(sizes, at_most_bytes=100, at_most=8) == count
