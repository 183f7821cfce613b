from dataclasses import replace

import pytest

from bench.report import read_targets
from bench.shapes_tally import (
    STEP_TOKENS,
    TOWER_TOKENS,
    Layers,
    Served,
    Whole,
    grid_of,
    layer_ratios,
    ratio_figures,
    served_figures,
    served_ratios,
    tower_fp32_bytes,
    whole_figures,
    whole_ratios,
)
from models.plan import NumberType, weights_bytes
from models.plan_shape import shape_of
from tests.support.model_configs import CONFIGS

SHAPE = shape_of(CONFIGS["qwen3_vl 2B"], "2B")
WEIGHTS = weights_bytes(SHAPE, NumberType.BF16)
AS_PLANNED = Whole(
    loaded_bytes=WEIGHTS,
    peak_bytes=2 * WEIGHTS,
    feature_shape=(48, 8192),
    feature_bytes=48 * 8192 * 2,
    deepstack=3,
    kv_bytes=256 * 114_688,
    kv_tokens=256,
)


def test_a_model_as_planned_has_ratios_of_one() -> None:
    assert whole_ratios(SHAPE, AS_PLANNED) == {"weights": 1.0, "features": 1.0, "kv": 1.0}


@pytest.mark.parametrize("change", [{"deepstack": 2}, {"feature_shape": (48, 6144)}])
def test_widths_and_deepstack_layers_are_the_plans_or_the_bench_fails(change: dict[str, object]) -> None:
    with pytest.raises(AssertionError, match="planned 8192 of 3"):
        whole_ratios(SHAPE, replace(AS_PLANNED, **change))  # type: ignore[arg-type]


def test_what_layers_need_is_planned_in_16_bit_and_measured_in_32() -> None:
    # By hand: 1,024 tokens x (4 x 2,048 + 3 x 6,144) values, and 1,568 patches of pixels, layer, angles and result.
    step = 1024 * (4 * 2048 + 3 * 6144) * 4
    tower = 1568 * (1536 * 4 + (4 * 1024 + 2 * 4096) * 4 + 2 * 64 * 4 + 4 * 2048 * 4 // 4)
    assert (STEP_TOKENS, TOWER_TOKENS) == (1024, 392)
    assert tower_fp32_bytes(SHAPE.vision, TOWER_TOKENS) == tower
    assert layer_ratios(SHAPE, Layers(step, tower // 2)) == {"step": 1.0, "tower": 0.5}


def test_vllm_is_measured_by_the_tokens_it_makes_room_for_and_by_its_engines_memory() -> None:
    found = Served(
        engine_bytes=WEIGHTS + 2 * (1 << 30), kv_bytes=1 << 30, kv_tokens=73 * 128, prompt_tokens=0
    )
    assert served_ratios(SHAPE, found)["kv_in_vllm"] == pytest.approx(1.0, abs=0.01)
    rows = {figure.name: figure.value for figure in served_figures("2B", SHAPE, found)}
    assert rows["shapes.2B.vllm.engine.ratio"] == pytest.approx(
        (WEIGHTS + 2 * (1 << 30)) / (WEIGHTS + (1 << 30))
    )


def test_how_far_off_is_the_worst_of_all_models() -> None:
    ratios = {"2B": {"weights": 1.02, "step": 0.9}, "4B": {"step": 1.05}}
    rows = {figure.name: figure for figure in ratio_figures(ratios)}
    assert rows["shapes.2B.weights.ratio"].value == 1.02
    assert rows["shapes.step.off"].value == pytest.approx(0.1)
    assert rows["shapes.step.off"].n == 2
    assert rows["shapes.weights.off"].value == pytest.approx(0.02)


def test_every_row_that_a_target_names_is_there_in_the_quick_form_too() -> None:
    ratios = {"2B": whole_ratios(SHAPE, AS_PLANNED) | layer_ratios(SHAPE, Layers(1, 1))}
    rows = {f.name: f.unit for f in [*whole_figures("2B", AS_PLANNED), *ratio_figures(ratios)]}
    named = [target for target in read_targets() if target.name.startswith("shapes.")]
    assert named
    assert all(rows[target.name] == target.unit for target in named)


@pytest.mark.parametrize(("tokens", "grid"), [(48, (1, 12, 16)), (196, (1, 28, 28)), (7, (1, 2, 14))])
def test_a_grid_has_as_many_tokens_as_asked(tokens: int, grid: tuple[int, int, int]) -> None:
    assert grid_of(tokens) == grid
    assert grid[1] * grid[2] // 4 == tokens
