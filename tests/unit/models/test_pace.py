from hypothesis import given
from hypothesis import strategies as st

from models.pace import Pace


def pace() -> Pace:
    return Pace(least=32, most=512, target_us=250_000)


def test_it_begins_small_and_grows_to_the_most_on_a_fast_machine() -> None:
    p = pace()
    assert p.size == 32
    sizes = []
    for _ in range(4):
        p.took(p.size, 10_000)
        sizes.append(p.size)

    assert sizes == [128, 512, 512, 512]


def test_it_shrinks_at_once_where_steps_take_long() -> None:
    p = pace()
    p.took(32, 1_000)
    p.took(128, 1_000)
    p.took(512, 1_000_000)
    assert p.size == 128
    p.took(128, 60_000_000)
    assert p.size == 32


def test_a_small_step_that_was_quick_enough_changes_nothing() -> None:
    p = pace()
    p.took(32, 1_000)
    p.took(128, 1_000)
    p.took(20, 100_000)

    assert p.size == 512


def test_a_small_step_that_took_too_long_counts() -> None:
    p = pace()
    p.took(32, 1_000)
    p.took(20, 500_000)

    assert p.size == 32


def test_a_limit_below_the_least_is_the_limit() -> None:
    p = Pace(least=32, most=8, target_us=1)
    p.took(8, 10)
    assert p.size == 8


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 10**9)), max_size=30))
def test_the_size_stays_within_its_bounds(steps: list[tuple[int, int]]) -> None:
    p = pace()
    for size, us in steps:
        p.took(size, us)
        assert 32 <= p.size <= 512
