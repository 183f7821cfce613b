"""Memory of an engine, held to worked examples."""

import dataclasses
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.plan import (
    EngineLoad,
    NumberType,
    buffer_bytes,
    engine_memory,
    kv_token_bytes,
    layer_matrices,
    tower_bytes,
    weights_bytes,
)
from models.plan_shape import shape_of
from tests.support.model_configs import CONFIGS, QWEN3_VL_2B

MIB, GIB = 1 << 20, 1 << 30
SMALL = shape_of(QWEN3_VL_2B, "2B")
CLASSIC = replace(SMALL.text, layers=24, hidden=2048, heads=16, kv_heads=16, head_dim=128)
"""24 layers, hidden 2048, as many KV heads as heads: the example whose figures everybody can check by hand."""


def test_2048_tokens_of_24_layers_with_16_kv_heads_are_384_mib() -> None:
    assert kv_token_bytes(CLASSIC, NumberType.FP16) == 192 * 1024
    assert 2048 * kv_token_bytes(CLASSIC, NumberType.FP16) == 384 * MIB


def test_sixteen_of_them_are_6_gib() -> None:
    memory = engine_memory(
        replace(SMALL, text=CLASSIC),
        EngineLoad(questions=16, context_tokens=2048, kv=NumberType.FP16),
    )
    assert memory.kv_bytes == 6 * GIB


def test_grouped_heads_and_8_bits_shrink_the_attention_state() -> None:
    grouped = replace(CLASSIC, kv_heads=2)
    assert kv_token_bytes(grouped, NumberType.FP16) * 8 == kv_token_bytes(CLASSIC, NumberType.FP16)
    assert kv_token_bytes(CLASSIC, NumberType.FP8) * 2 == kv_token_bytes(CLASSIC, NumberType.FP16)


def test_qwen3_vl_2b_takes_112_kib_a_token() -> None:
    assert kv_token_bytes(SMALL.text, NumberType.BF16) == 112 * 1024


def test_a_question_takes_whole_blocks() -> None:
    memory = engine_memory(SMALL, EngineLoad(questions=1, context_tokens=129, block_tokens=128))
    assert memory.kv_question_bytes == 256 * 112 * 1024


def test_at_8_bits_the_tower_and_the_embeddings_stay_at_16() -> None:
    full, small = (weights_bytes(SMALL, kind) for kind in (NumberType.BF16, NumberType.FP8))
    assert full == 2 * 2_127_532_032
    assert full - small == layer_matrices(SMALL.text) == 28 * (2048 * 4096 + 2048 * 2048 + 3 * 2048 * 6144)


def test_experts_count_by_all_of_them_in_weights_and_by_those_used_in_a_step() -> None:
    shape = shape_of(CONFIGS["qwen3_vl_moe 30B-A3B"], "30B")
    assert layer_matrices(shape.text) > 28e9
    load = EngineLoad(questions=1, context_tokens=4096, picture_tokens=0, batch_tokens=8192)
    each = engine_memory(shape, load).activation_bytes / 8192 / 2
    assert each == 4 * 2048 + 8 * (3 * 768 + 2048)


def test_features_on_their_way_in_take_the_encoder_cache_and_the_rows_of_a_step() -> None:
    load = EngineLoad(questions=1, context_tokens=4096, batch_tokens=2048, picture_tokens=16_384)
    assert buffer_bytes(SMALL, load) == (16_384 + 2048) * 8192 * 2


def test_an_engine_that_never_encodes_needs_no_room_for_the_tower() -> None:
    load = EngineLoad(questions=1, context_tokens=4096)
    without = engine_memory(SMALL, replace(load, picture_tokens=0))
    assert without.activation_bytes < tower_bytes(SMALL.vision, 16_384)
    assert engine_memory(SMALL, load).activation_bytes == tower_bytes(SMALL.vision, 16_384)


def test_what_fits_is_what_the_rest_of_the_memory_holds() -> None:
    load = EngineLoad(questions=4, context_tokens=8192)
    memory = engine_memory(SMALL, load)
    assert memory.questions_in(memory.total_bytes) == 4
    assert memory.questions_in(memory.total_bytes - 1) == 3
    assert memory.questions_in(memory.fixed_bytes - 1) == 0


@given(
    questions=st.integers(1, 512),
    context=st.integers(1, 262_144),
    batch=st.integers(1, 65_536),
)
def test_more_of_anything_never_takes_less(questions: int, context: int, batch: int) -> None:
    load = EngineLoad(questions=questions, context_tokens=context, batch_tokens=batch)
    total = engine_memory(SMALL, load).total_bytes
    for name in ("questions", "context_tokens", "batch_tokens"):
        more = dataclasses.replace(load, **{name: getattr(load, name) + 1})
        assert engine_memory(SMALL, more).total_bytes >= total


@pytest.mark.parametrize(
    ("name", "value"),
    [("questions", 0), ("context_tokens", 0), ("batch_tokens", -1), ("runtime_bytes", -1)],
)
def test_a_load_that_cannot_be_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=name):
        EngineLoad(**{"questions": 1, "context_tokens": 1, name: value})
