import pytest

from bench.ask_vllm import FRAMES, WAYS, Lap, figures
from bench.report import read_targets


def lap(first_word_ms: float, share_ms: float = 1.0) -> Lap:
    return Lap(accepted=10.0, sent=10.0 + share_ms / 1000, first_word=10.0 + first_word_ms / 1000)


COST = {"pixels": 10.0, "inline": 4.0, "ids": 2.0, "ids_warm": 0.1}
LAPS = {(way, n): [lap(COST[way] * n), lap(COST[way] * n * 1.5)] for way in WAYS for n in FRAMES}


def test_a_lap_counts_from_the_accepted_question() -> None:
    assert lap(120, 4).first_word_ms == pytest.approx(120)
    assert lap(120, 4).share_ms == pytest.approx(4)


def test_every_way_has_a_row_for_every_number_of_frames_and_ratios_are_of_medians() -> None:
    rows = {figure.name: figure for figure in figures(LAPS, [3.0, 5.0, 4.0])}
    assert rows["ask_vllm.pixels.32.median"].value == pytest.approx(400)
    assert rows["ask_vllm.pixels.32.median"].spread == pytest.approx((320, 480))
    assert rows["ask_vllm.ids_over_pixels.32"].value == pytest.approx(0.2)
    assert rows["ask_vllm.warm_64_over_ids_4"].value == pytest.approx(0.8)
    assert (rows["ask_vllm.own_share.64.median"].value, rows["ask_vllm.own_share.64.p95"].value) == (4, 5)
    assert {f"ask_vllm.{way}.{n}.median" for way in WAYS for n in FRAMES} < rows.keys()


def test_the_spread_of_a_ratio_is_that_of_its_rounds() -> None:
    uneven = LAPS | {("ids", 32): [lap(64), lap(480)]}
    rows = {figure.name: figure for figure in figures(uneven, [1.0])}
    assert rows["ask_vllm.ids_over_pixels.32"].spread == pytest.approx((64 / 320, 1.0))


def test_every_row_that_a_target_names_is_there() -> None:
    rows = {figure.name: figure.unit for figure in figures(LAPS, [1.0])}
    named = [target for target in read_targets() if target.name.startswith("ask_vllm.")]
    assert named
    assert all(rows[target.name] == target.unit for target in named)
