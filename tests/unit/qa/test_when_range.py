"""Values that phrases say, and how wide a point is."""

import pytest

from qa.when_range import DAY_US, HOUR_US, MINUTE_US, SECOND_US, Clock, Precision, ago_margin, margins


@pytest.mark.parametrize(
    ("precision", "exact", "loose"),
    [
        (Precision.SECOND, (2, 3), (30, 31)),
        (Precision.MINUTE, (0, 60), (120, 180)),
        (Precision.HOUR, (120, 120), (900, 900)),
    ],
)
def test_a_point_is_as_wide_as_it_was_said_precisely(
    precision: Precision, exact: tuple[int, int], loose: tuple[int, int]
) -> None:
    assert tuple(us // SECOND_US for us in margins(precision, loose=False)) == exact
    assert tuple(us // SECOND_US for us in margins(precision, loose=True)) == loose


def test_so_long_ago_is_as_wide_as_its_unit() -> None:
    widths = [ago_margin(unit, loose=False) for unit in (SECOND_US, MINUTE_US, HOUR_US, DAY_US)]
    assert widths == [5 * SECOND_US, 30 * SECOND_US, 10 * MINUTE_US, 12 * HOUR_US]
    assert [ago_margin(unit, loose=True) for unit in (SECOND_US, DAY_US)] == [10 * SECOND_US, DAY_US]


@pytest.mark.parametrize("clock", [Clock(24), Clock(1, 60), Clock(1, 1, 60)])
def test_times_that_no_clock_shows_are_not_valid(clock: Clock) -> None:
    assert not clock.valid()
