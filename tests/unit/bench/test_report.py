import pytest

from bench.report import (
    Figure,
    Target,
    Verdict,
    judge,
    median_figure,
    missing,
    p95_figure,
    quantile,
    read_targets,
    table,
    verdict,
)

TARGET = Target("ask.first", "ms", "first word within 100 ms", at_most=100)
SHARE = Target("accuracy.where.exact", "share", "97 % exact", at_least=0.97)


def test_the_quantile_is_the_nearest_rank() -> None:
    values = list(range(1, 101))
    assert quantile(values, 0.95) == 95
    assert quantile([7.0], 0.95) == 7.0
    assert quantile([1.0, 2.0], 0.5) == 1.0


def test_figures_carry_their_spread_and_count() -> None:
    assert median_figure("a.b", [3, 1, 2], "s") == Figure("a.b", 2, "s", (1, 3), 3)
    assert p95_figure("a.b", [3, 1, 2], "s").value == 3


def test_a_figure_is_judged_against_its_target_and_others_are_not() -> None:
    rows = judge(
        [Figure("ask.first", 99, "ms", (1, 99), 5), Figure("ask.rest", 1, "s", (1, 1), 1)],
        [TARGET],
        machine="m",
    )
    assert [(row.target, row.met) for row in rows] == [(100, True), (None, None)]
    assert verdict(rows, []) == (Verdict.MET, "MET: 1 of 1 targets")


def test_a_missed_target_is_named_in_the_last_line() -> None:
    rows = judge([Figure("ask.first", 101, "ms", (1, 101), 5)], [TARGET], machine="m")
    assert verdict(rows, []) == (Verdict.MISSED, "MISSED: ask.first")
    assert "NO" in table(rows)


def test_a_row_that_a_target_names_must_be_there_when_its_bench_ran() -> None:
    assert missing([], [TARGET], ["ask"]) == ("ask.first",)
    assert missing([], [TARGET], ["glass"]) == ()
    assert verdict([], ["ask.first"])[0] is Verdict.ABSENT


def test_units_must_agree() -> None:
    with pytest.raises(ValueError, match="is in s, its target in ms"):
        judge([Figure("ask.first", 1, "s", (1, 1), 1)], [TARGET], machine="m")


def test_every_target_in_the_file_quotes_where_it_comes_from() -> None:
    targets = read_targets()
    assert targets
    assert all(target.quote and target.bound > 0 for target in targets)


@pytest.mark.parametrize(("high", "met"), [(0.971, True), (0.969, False)])
def test_a_share_is_judged_on_the_upper_end_of_its_interval(high: float, met: bool) -> None:
    [row] = judge([Figure(SHARE.name, 0.95, "share", (0.9, high), 200)], [SHARE], machine="m")
    assert row.met is met
    assert ">= 0.97" in table([row])


@pytest.mark.parametrize("bounds", [{}, {"at_most": 1.0, "at_least": 1.0}])
def test_a_target_takes_one_bound(bounds: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="takes one of"):
        Target("ask.first", "ms", "said twice", **bounds)
