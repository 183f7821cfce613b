import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featcache.pages import PageIds, PageTable, pages_for

PAGES = 37

# A piece of so many pages is put, or the n-th piece held is let go.
steps = st.lists(st.tuples(st.sampled_from(["put", "let go"]), st.integers(1, 12)), max_size=200)


@given(steps)
def test_every_page_is_accounted_for_and_what_fits_by_count_fits(steps: list[tuple[str, int]]) -> None:
    table, held = PageTable(PAGES), list[PageIds]()
    for what, number in steps:
        free = PAGES - sum(map(len, held))
        if what == "put":
            taken = table.take(number)
            assert (taken is not None) == (number <= free)
            if taken is not None:
                assert len(taken) == number
                held.append(taken)
        elif held:
            table.give_back(held.pop(number % len(held)))
        numbers = np.concatenate([np.empty(0, np.int64), *held])
        assert len(np.unique(numbers)) == len(numbers)
        assert ((numbers >= 0) & (numbers < PAGES)).all()
        assert table.free == PAGES - len(numbers)


def test_after_an_hour_of_ragged_pieces_all_that_is_free_can_be_had_at_once() -> None:
    random = np.random.default_rng(4)
    table, held = PageTable(5_000), list[PageIds]()
    for _ in range(15_000):  # an hour at four frames a second
        taken = table.take(int(random.integers(1, 200)))
        if taken is None:
            table.give_back(held.pop(int(random.integers(len(held)))))
        else:
            held.append(taken)
    rest = table.take(table.free)
    assert rest is not None
    assert sorted(np.concatenate([rest, *held]).tolist()) == list(range(5_000))
    for pieces in (*held, rest):
        table.give_back(pieces)
    assert table.free == 5_000


def test_nothing_is_taken_where_too_few_are_free() -> None:
    table = PageTable(3)
    assert table.take(4) is None
    assert table.free == 3


def test_the_first_pieces_lie_in_a_row() -> None:
    table = PageTable(6)
    first, second = table.take(2), table.take(3)
    assert first is not None
    assert second is not None
    assert [*first, *second] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("wrong", [[3], [0, 0], [-1], [8], [0, 3]])
def test_pages_that_are_not_taken_cannot_be_given_back(wrong: list[int]) -> None:
    table = PageTable(8)
    table.take(3)
    with pytest.raises(ValueError, match="not taken"):
        table.give_back(wrong)
    assert table.free == 5
    table.give_back([1, 0, 2])
    assert table.free == 8


def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one page"):
        PageTable(0)
    with pytest.raises(ValueError, match="at least one page"):
        PageTable(1).take(0)


def test_a_piece_takes_whole_pages_and_at_least_one() -> None:
    assert [pages_for(size, 16) for size in (0, 1, 16, 17, 32, 33)] == [1, 1, 1, 2, 2, 3]
