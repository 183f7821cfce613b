from hypothesis import given
from hypothesis import strategies as st

from featcache.budget import fair_level, next_to_pay, retention_cutoff_us

holdings = st.lists(st.integers(0, 1_000_000), min_size=1, max_size=30)
budgets = st.integers(0, 5_000_000)


def kept(held: list[int], level: int) -> int:
    return sum(min(one, level) for one in held)


@given(holdings, budgets)
def test_everybody_at_the_level_together_stays_within_the_budget(held: list[int], budget: int) -> None:
    assert kept(held, fair_level(held, budget)) <= budget


@given(holdings, budgets)
def test_no_higher_level_would_fit(held: list[int], budget: int) -> None:
    level = fair_level(held, budget)
    assert sum(held) <= budget or kept(held, level + 1) > budget


@given(holdings, budgets)
def test_who_uses_no_more_than_an_even_share_pays_nothing(held: list[int], budget: int) -> None:
    level = fair_level(held, budget)
    assert all(one <= level for one in held if one <= budget // len(held))


@given(holdings, budgets)
def test_nobody_pays_while_everything_fits(held: list[int], budget: int) -> None:
    if sum(held) <= budget:
        assert max(held) <= fair_level(held, budget)


@given(holdings, budgets)
def test_the_level_does_not_depend_on_the_order(held: list[int], budget: int) -> None:
    assert fair_level(held, budget) == fair_level(sorted(held, reverse=True), budget)


def test_what_one_camera_leaves_is_lent_evenly() -> None:
    assert fair_level([10, 100, 100], 150) == 70


def test_without_cameras_the_whole_budget_is_free() -> None:
    assert fair_level([], 100) == 100


def test_the_oldest_frame_of_those_above_the_level_goes_first() -> None:
    held, oldest = {"a": 50, "b": 60, "c": 10}, {"a": 7, "b": 3, "c": 1}
    assert next_to_pay(held, oldest, level_bytes=20) == "b"
    assert next_to_pay(held, oldest, level_bytes=55) == "b"
    assert next_to_pay(held, oldest, level_bytes=5) == "c"


def test_nobody_above_the_level_nobody_pays() -> None:
    assert next_to_pay({"a": 5}, {"a": 1}, level_bytes=5) is None
    assert next_to_pay({}, {}, level_bytes=0) is None


@given(st.dictionaries(st.integers(0, 9), st.integers(1, 1000), min_size=1), st.integers(0, 3000))
def test_paying_one_byte_at_a_time_ends_within_the_budget(held: dict[int, int], budget: int) -> None:
    level = fair_level(held.values(), budget)
    oldest = {key: key for key in held if held[key]}
    while sum(held.values()) > budget:
        payer = next_to_pay(held, oldest, level_bytes=level)
        assert payer is not None
        held[payer] -= 1
        if not held[payer]:
            del oldest[payer]
    assert sum(held.values()) <= budget


def test_the_retention_reaches_back_from_the_newest_time() -> None:
    assert retention_cutoff_us(1_000, 300) == 700
