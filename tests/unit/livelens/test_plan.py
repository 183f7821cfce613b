"""Bytes of frames and windows, cores, and how many cameras fit."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livelens.decoder_command import Found, start_of
from livelens.decoder_profile import DecoderProfile, Device, Role
from livelens.plan import (
    RoadLoad,
    Room,
    allocated_bytes,
    check_context,
    cpu_seconds,
    frame_bytes,
    plan_road,
    question_tokens,
)
from models.plan import EngineLoad
from models.plan_shape import shape_of
from tests.support.model_configs import CONFIGS, QWEN3_VL_2B

GIB = 1 << 30
SHAPE = shape_of(QWEN3_VL_2B, "2B")
ENGINE = EngineLoad(questions=16, context_tokens=8192)


def test_a_frame_takes_its_tokens_times_hidden_times_deepstack_times_two_bytes() -> None:
    frame = frame_bytes(SHAPE, RoadLoad(frame_tokens=196, jpeg_bytes=60_000))
    assert frame.features == 196 * 2048 * 4 * 2 == 3_211_264
    assert frame.features_int8 == 196 * (2048 * 4 + 4)
    assert frame.pool == 3_211_264 + 60_000 + 512


def test_a_model_without_deepstack_keeps_a_quarter_of_that() -> None:
    plain = frame_bytes(shape_of(CONFIGS["qwen2_5_vl 3B"], "3B"), RoadLoad())
    assert plain.features * 4 == frame_bytes(SHAPE, RoadLoad()).features


def test_int8_halves_what_is_stored() -> None:
    full, small = (frame_bytes(SHAPE, RoadLoad(int8=int8)) for int8 in (False, True))
    assert full.features == small.features
    assert 0.49 < (small.pool - 60_512) / (full.pool - 60_512) < 0.51


@pytest.mark.parametrize(
    ("value_bytes", "taken"),
    [(33_650, 40_960), (302_400, 327_680), (3_271_500, 3_670_016), (16_384, 16_384), (16_385, 20_480)],
)
def test_redis_rounds_a_value_up_to_its_allocators_next_size(value_bytes: int, taken: int) -> None:
    assert allocated_bytes(value_bytes) == taken


@given(st.integers(64, 1 << 26))
def test_no_value_loses_more_than_a_quarter_to_rounding(value_bytes: int) -> None:
    taken = allocated_bytes(value_bytes)
    assert value_bytes <= taken <= value_bytes * 1.25 + 16
    assert allocated_bytes(taken) == taken


def test_a_quiet_camera_keeps_its_heartbeats_and_a_busy_one_four_a_second() -> None:
    assert RoadLoad(busy=0).kept == 0.5
    assert RoadLoad(busy=1).kept == 4
    assert RoadLoad(busy=1, kept_fps=2).kept == 2
    assert RoadLoad(busy=1, fps=1).kept == 1


def test_the_window_is_frames_times_cameras_times_minutes() -> None:
    load = RoadLoad(cameras=10, kept_fps=2, minutes=10, redis_minutes=2)
    plan = plan_road(SHAPE, load, ENGINE, Room())
    assert plan.pool_bytes == 10 * 2 * 600 * plan.frame.pool
    assert plan.redis_bytes == 10 * 2 * 120 * plan.frame.redis
    assert plan.encoded_fps == 20


@pytest.mark.parametrize(
    ("size", "busy", "seconds"),
    [((1280, 720), 0, 4.6), ((1280, 720), 1, 7.4), ((1920, 1080), 0, 6.7), ((1920, 1080), 1, 10.5)],
)
def test_the_measured_cameras_cost_what_was_measured(
    size: tuple[int, int], busy: float, seconds: float
) -> None:
    load = RoadLoad(width_px=size[0], height_px=size[1], busy=busy)
    assert cpu_seconds(load) == (pytest.approx(seconds), True)


def test_another_size_lies_on_the_line_and_says_so() -> None:
    seconds, measured = cpu_seconds(RoadLoad(width_px=1600, height_px=900, busy=0))
    assert 4.6 < seconds < 6.7
    assert not measured


def test_the_scarcest_thing_says_how_many_cameras_fit() -> None:
    room = Room(pool_bytes=64 * GIB, redis_bytes=16 * GIB, cores=16, encoder_fps=400)
    plan = plan_road(SHAPE, RoadLoad(kept_fps=2), ENGINE, room)
    by_name = {limit.of: limit.cameras for limit in plan.limits}
    assert set(by_name) == {"pool memory", "Redis memory", "CPU cores", "encoder"}
    assert by_name["encoder"] == 200
    assert by_name["CPU cores"] == int(16 * 0.7 / (plan.cpu_seconds / 60))
    assert plan.cameras_fit == min(by_name.values()) == by_name["Redis memory"]


def test_so_many_cameras_do_fit_and_one_more_does_not() -> None:
    room = Room(pool_bytes=64 * GIB)
    fit = plan_road(SHAPE, RoadLoad(), ENGINE, room).cameras_fit
    assert fit is not None
    taken = [
        plan_road(SHAPE, replace(RoadLoad(), cameras=count), ENGINE, room).pool_bytes
        for count in (fit, fit + 1)
    ]
    assert taken[0] <= 64 * GIB < taken[1]


def test_what_is_not_named_limits_nothing() -> None:
    plan = plan_road(SHAPE, RoadLoad(), ENGINE, Room())
    assert plan.limits == ()
    assert plan.cameras_fit is None
    assert plan.questions_fit is None


def test_the_gpu_says_how_many_questions_fit() -> None:
    plan = plan_road(SHAPE, RoadLoad(), ENGINE, Room(gpu_bytes=24 * GIB, gpu_share=0.9))
    assert plan.questions_fit == plan.engine.questions_in(int(24 * GIB * 0.9))


def test_a_question_holds_frames_labels_text_and_the_answer() -> None:
    tokens = question_tokens(window_tokens=8192, frame_tokens=196, answer_tokens=256)
    assert tokens == 8192 + 41 * 14 + 600 + 256


def test_a_question_larger_than_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="more than the model's context of 262,144"):
        check_context(SHAPE, EngineLoad(questions=1, context_tokens=262_145))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cameras", 0),
        ("busy", 1.5),
        ("kept_fps", 0.0),
        ("kept_fps", 26.0),
        ("minutes", 0.0),
        ("fps", float("nan")),
        ("fps", float("inf")),
    ],
)
def test_a_road_that_cannot_be_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        RoadLoad(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("gpu_share", 0.0), ("cores", 0.0), ("redis_bytes", -1)])
def test_room_that_cannot_be_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        Room(**{name: value})


def test_the_services_encoder_is_the_tower_and_one_batch() -> None:
    few, many = (plan_road(SHAPE, RoadLoad(frame_tokens=n), ENGINE, Room()).encoder_bytes for n in (196, 784))
    weights = 2 * SHAPE.vision.weights()
    assert weights < few < many
    assert (many - weights) == 4 * (few - weights)


def test_a_plan_assumes_the_step_that_the_decoder_command_asks_for() -> None:
    found = Found(Path("p"), Device.GPU, Path("k"), Path("m"), "m", 16_384, "0123456789ab")
    words = start_of(DecoderProfile(), Role.BOTH, found).command
    assert int(words[words.index("--max-num-batched-tokens") + 1]) == ENGINE.batch_tokens
