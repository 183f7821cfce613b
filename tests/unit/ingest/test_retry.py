"""When to try again."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.retry import Retry
from ingest.settings import IngestSettings

SETTINGS = IngestSettings()
SECOND = 1_000_000


def test_pauses_grow_up_to_a_cap() -> None:
    retry = Retry(SETTINGS, chance=lambda: 1.0)
    pauses = [retry.after(healthy_us=0, slow=False) / SECOND for _ in range(8)]
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15, 15]


def test_chance_takes_off_up_to_half() -> None:
    assert Retry(SETTINGS, chance=lambda: 0.0).after(healthy_us=0, slow=False) == 250_000


def test_a_connection_that_was_healthy_makes_the_next_pause_a_first_one() -> None:
    retry = Retry(SETTINGS, chance=lambda: 1.0)
    for _ in range(5):
        retry.after(healthy_us=0, slow=False)
    assert retry.after(healthy_us=9 * SECOND, slow=False) == 15 * SECOND
    assert retry.after(healthy_us=10 * SECOND, slow=False) == SECOND // 2


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8))
def test_a_refused_password_is_tried_a_few_times_a_minute_at_most(chances: list[float]) -> None:
    numbers = iter(chances)
    retry = Retry(SETTINGS, chance=lambda: next(numbers))
    at, tries = 0, [0]
    for _ in range(8):
        at += retry.after(healthy_us=0, slow=True)
        tries.append(at)
    for start in tries:
        assert sum(start <= one < start + 60 * SECOND for one in tries) <= 3


def test_a_camera_that_answers_again_is_tried_fast_again() -> None:
    retry = Retry(SETTINGS, chance=lambda: 1.0)
    retry.after(healthy_us=0, slow=True)
    assert retry.after(healthy_us=0, slow=False) == SECOND // 2
