import pytest

from bench.split_tally import (
    FRAMES,
    Served,
    Trace,
    Transfer,
    figures_of,
    load,
    served,
    size_figures,
    transfer_figures,
    when_not_to_split,
)

QUICK = Trace(4, asked=1.0, pieces=(1.2, 1.21, 1.22), tokens=3)
HALTING = Trace(64, asked=1.5, pieces=(2.5, 2.51, 3.0), tokens=4)
MIB = 1 << 20


def way(gap: float = 20.0, first: float = 500.0, tokens: float = 100.0, halted: float = 0.0) -> Served:
    return Served((first,), (gap,) * 20, tokens, halted)


TRANSFERS = {
    "shared memory": [Transfer(4, 2.0, 4 * MIB), Transfer(64, 50.0, 50 * MIB)],
    "TCP": [Transfer(4, 4.0, 4 * MIB), Transfer(64, 100.0, 50 * MIB)],
}


def test_a_load_is_the_same_every_time_and_asks_about_no_frame_twice() -> None:
    questions = load(24)
    assert questions == load(24)
    ends = [each.first + each.frames for each in questions]
    assert [each.first for each in questions[1:]] == ends[:-1]
    assert {each.frames for each in questions} == set(FRAMES)
    assert len(load(3)) == 3


def test_a_gap_over_the_limit_halts_its_answer() -> None:
    found = served([QUICK, HALTING])
    assert found.first_words_ms == pytest.approx((200, 1000))
    assert found.gaps_ms == pytest.approx((10, 10, 10, 490))
    assert found.halted == 0.25
    assert found.answers_halted == 0.5
    assert found.tokens_per_s == pytest.approx(7 / 2.0)


def test_the_rows_of_a_way_have_its_name_and_tails() -> None:
    rows = {figure.name: figure for figure in figures_of("apart", served([QUICK, HALTING]))}
    assert rows["split.apart.first_word.p95"].value == pytest.approx(1000)
    assert rows["split.apart.gap.median"].value == pytest.approx(10)
    assert (rows["split.apart.gaps_halted"].value, rows["split.apart.gaps_halted"].n) == (0.25, 4)


def test_transfers_are_told_by_size_for_each_way_of_travelling() -> None:
    rows = transfer_figures("tcp", [Transfer(4, 4.0, 4 * MIB), Transfer(4, 6.0, 4 * MIB), *TRANSFERS["TCP"]])
    assert [(row.name, row.value) for row in rows] == [("split.kv.tcp.4", 4.0), ("split.kv.tcp.64", 100.0)]
    assert [row.value for row in size_figures(TRANSFERS["TCP"])] == [4, 50]


@pytest.mark.parametrize(
    ("whole", "apart", "said"),
    [
        (way(), way(), "words came no steadier apart ("),
        (way(), way(first=900), "no steadier apart, at the price of later first words ("),
        (
            way(halted=0.5),
            way(halted=0.1, first=900, tokens=50),
            "unless steady words count for more than later first words and fewer tokens a second",
        ),
        (way(gap=100), way(gap=20), "Do not split for throughput"),
        (way(gap=100), way(gap=95), "no steadier"),
    ],
)
def test_the_sentence_follows_from_the_figures(whole: Served, apart: Served, said: str) -> None:
    assert said in when_not_to_split(whole, apart, TRANSFERS)


def test_the_sentence_tells_what_the_way_of_travelling_costs() -> None:
    text = when_not_to_split(way(), way(), TRANSFERS)
    assert "50 MiB, travelled 50 ms over shared memory (1000 MiB/s) and 100 ms over TCP (500 MiB/s)" in text
    assert "at most 20% of it" in text
