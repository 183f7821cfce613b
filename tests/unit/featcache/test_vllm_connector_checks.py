from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.frames import FeatureType
from featcache.vllm_connector_checks import (
    ModelFeatures,
    Refusal,
    Wanted,
    feature_width,
    grid_of,
    is_by_id,
    shape_fits,
)
from tests.support.fake_vllm import part
from tests.support.windows import ENCODER, features_of

REF = f"gate/7/{ENCODER}/4"
MODEL = ModelFeatures(width=8, encoder=ENCODER)


def test_an_identifier_must_be_the_ref_of_a_frame_of_this_models_encoder() -> None:
    assert MODEL.ref_of(REF) == REF
    assert MODEL.ref_of("a picture") is Refusal.ID
    assert MODEL.ref_of("gate/7/ffffffffffff/4") is Refusal.ENCODER
    assert ModelFeatures(width=8).ref_of("gate/7/ffffffffffff/4") == "gate/7/ffffffffffff/4"


def test_features_are_for_a_model_by_width_type_and_encoder() -> None:
    good = features_of()
    assert MODEL.judge(good) is None
    assert MODEL.judge(None) is Refusal.NO_FEATURES
    assert ModelFeatures(width=16, encoder=ENCODER).judge(good) is Refusal.WIDTH
    assert MODEL.judge(replace(good, encoder_version="ffffffffffff")) is Refusal.ENCODER
    halves = replace(good, dtype=FeatureType.F16, data=bytes(64))
    assert MODEL.judge(halves) is None
    bf16_only = replace(MODEL, dtype=FeatureType.BF16)
    assert bf16_only.judge(good) is None
    assert bf16_only.judge(halves) is Refusal.DTYPE


def test_a_frame_fits_by_tokens_and_by_grid_where_the_request_says_one() -> None:
    wanted = Wanted(REF, 4, (1, 4, 4), 10)
    assert shape_fits(wanted, tokens=4, grid=(1, 4, 4))
    assert not shape_fits(wanted, tokens=4, grid=(1, 2, 8))
    assert not shape_fits(wanted, tokens=6, grid=(1, 4, 4))
    assert shape_fits(replace(wanted, grid=None), tokens=4, grid=(1, 2, 8))


def test_the_width_counts_the_deepstack_layers() -> None:
    text, deep = (
        SimpleNamespace(hidden_size=192),
        SimpleNamespace(deepstack_visual_indexes=[1, 5, 9], hidden_size=64),
    )
    assert feature_width(SimpleNamespace(text_config=text, vision_config=deep)) == 768
    assert feature_width(SimpleNamespace(text_config=text, vision_config=SimpleNamespace())) == 192
    assert feature_width(SimpleNamespace(hidden_size=100)) == 100
    with pytest.raises(ValueError, match="no hidden_size"):
        feature_width(SimpleNamespace())


def test_a_part_is_asked_for_by_id_where_it_carries_nothing_but_its_size() -> None:
    assert is_by_id(part(REF, at=0).data, REF)
    assert is_by_id(part("anything", at=0).data, "anything")
    assert not is_by_id(part(REF, at=0, pixel_values=object()).data, REF)
    assert not is_by_id(part(REF, at=0, image_embeds=object()).data, REF)
    assert is_by_id(part(REF, at=0, image_embeds=None).data, REF)


def test_a_part_whose_data_is_elsewhere_is_judged_by_its_id() -> None:
    assert is_by_id(None, REF)
    assert not is_by_id(None, "6f1e0c")


def test_the_grid_is_three_numbers_or_none() -> None:
    assert grid_of(part(REF, at=0, grid=(1, 4, 8)).data) == (1, 4, 8)
    assert grid_of(part(REF, at=0, grid=(1, 4)).data) is None
    assert grid_of(part(REF, at=0, grid=None).data) is None
    assert grid_of(None) is None
