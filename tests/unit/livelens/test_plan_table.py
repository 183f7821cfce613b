"""What a plan looks like."""

import json

import pytest

from livelens.plan import RoadLoad, Room, plan_road
from livelens.plan_table import as_json, size, table
from models.plan import EngineLoad
from models.plan_shape import shape_of
from tests.support.model_configs import QWEN3_VL_2B

SHAPE = shape_of(QWEN3_VL_2B, "Qwen3-VL-2B")
ENGINE = EngineLoad(questions=16, context_tokens=7936)
ROOM = Room(gpu_bytes=24 << 30, pool_bytes=64 << 30, cores=8)


def test_the_table_names_the_formula_beside_each_figure() -> None:
    text = table(plan_road(SHAPE, RoadLoad(cameras=10), ENGINE, ROOM), SHAPE)
    assert "2 x 28 layers x 8 KV heads x 128 x 2 bytes" in text
    assert "2048 x (1 + 3) x 2 bytes x 196 tokens" in text
    assert "10 cameras, 1280x720 at 25/s" in text
    assert "fits; 16 questions of this size at once" in text


def test_what_was_measured_is_told_from_what_was_not() -> None:
    measured = table(plan_road(SHAPE, RoadLoad(), ENGINE, ROOM), SHAPE)
    other = table(plan_road(SHAPE, RoadLoad(width_px=640, height_px=480), ENGINE, ROOM), SHAPE)
    assert "measured on 2 cores of one machine" in measured
    assert "on the line through what was measured on 2 cores of one machine" in other
    assert "assumed: GPU context, graphs, libraries" in measured


def test_an_engine_that_is_too_large_is_shown_in_capitals() -> None:
    text = table(plan_road(SHAPE, RoadLoad(), ENGINE, Room(gpu_bytes=8 << 30)), SHAPE)
    assert "DOES NOT FIT; 0 questions" in text


def test_the_smallest_limit_is_marked() -> None:
    text = table(plan_road(SHAPE, RoadLoad(), ENGINE, ROOM), SHAPE)
    marked = [line for line in text.splitlines() if "<- the limit" in line]
    assert len(marked) == 1
    assert marked[0].split()[0:2] == ["pool", "memory"]


def test_without_room_nothing_is_said_to_fit() -> None:
    assert "Cameras that fit" not in table(plan_road(SHAPE, RoadLoad(), ENGINE, Room()), SHAPE)


def test_the_json_holds_the_same_figures_and_plain_values() -> None:
    plan = plan_road(SHAPE, RoadLoad(cameras=10), ENGINE, ROOM)
    found = json.loads(json.dumps(as_json(plan, SHAPE)))
    assert found["engine"]["kv_token_bytes"] == 112 * 1024
    assert found["engine"]["total_bytes"] == plan.engine.total_bytes
    assert found["frame"]["features_bytes"] == 3_211_264
    assert found["cameras"]["fit"] == plan.cameras_fit
    assert found["model"]["weights"] == 2_127_532_032


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (384 << 20, "384 MiB"), (6 << 30, "6 GiB")],
)
def test_bytes_are_shown_in_a_unit_that_fits(size_bytes: int, shown: str) -> None:
    assert size(size_bytes) == shown
