import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.frames import BadFeatures, FarBytes, Features, FeatureType
from tests.support.elsewhere import Elsewhere

VERSION = "0123456789ab"


def features(
    data: bytes | FarBytes,
    *,
    dtype: FeatureType = FeatureType.BF16,
    shape: tuple[int, int] = (2, 3),
) -> Features:
    return Features(data, dtype, shape, (1, 2, 2), VERSION)


def bits(*values: int) -> bytes:
    return np.array(values, dtype="<u2").tobytes()


ONES = bits(*[0x3F80] * 6)


def test_features_are_read_as_rows_of_tokens() -> None:
    made = features(bits(1, 2, 3, 4, 5, 6))
    assert made.bits().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert made.tokens == 2


def test_reading_the_bits_copies_nothing() -> None:
    made = features(ONES)
    assert np.shares_memory(made.bits(), np.frombuffer(made.data, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        made.bits()[0, 0] = 1


@pytest.mark.parametrize("length", [0, 1, 11, 13, 24])
def test_data_of_another_length_than_the_shape_says_is_refused(length: int) -> None:
    with pytest.raises(BadFeatures, match=f"takes 12 bytes, got {length}"):
        features(b"\0" * length)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (-1, -6), (-2, -3)])
def test_shapes_without_tokens_or_columns_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(BadFeatures, match="at least one"):
        features(ONES, shape=shape)


def test_a_claim_of_an_enormous_shape_is_refused_before_memory_is_taken() -> None:
    with pytest.raises(BadFeatures, match="takes 2199023255552 bytes"):
        features(b"\0" * 1_500, shape=(1 << 20, 1 << 20))


@pytest.mark.parametrize("dtype", [FeatureType.BF16, FeatureType.F16])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_values_that_are_not_finite_are_refused(dtype: FeatureType, value: str) -> None:
    number = np.float32(value)
    bad = (
        int(number.view(np.uint32) >> 16)
        if dtype is FeatureType.BF16
        else int(number.astype(np.float16).view(np.uint16))
    )
    with pytest.raises(BadFeatures, match="not finite"):
        features(bits(0, 0, 0, 0, 0, bad), dtype=dtype)


def test_int8_features_are_rows_of_steps_and_a_scale_for_each_token() -> None:
    scales = np.array([0.5, 2.0], "<f4")
    made = features(bytes([1, 2, 3, 255, 254, 253]) + scales.tobytes(), dtype=FeatureType.I8)
    assert made.steps().tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert made.scales().tolist() == [0.5, 2.0]
    with pytest.raises(BadFeatures, match="takes 14 bytes, got 6"):
        features(b"\0" * 6, dtype=FeatureType.I8)
    with pytest.raises(BadFeatures, match="widen them first"):
        made.bits()
    with pytest.raises(BadFeatures, match="scales"):
        features(bytes(6) + np.array([np.nan, 1.0], "<f4").tobytes(), dtype=FeatureType.I8)


def test_a_pickle_is_only_bytes_of_the_wrong_length() -> None:
    class Canary:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was run",))

    with pytest.raises(BadFeatures):
        features(pickle.dumps(Canary()))


@given(st.lists(st.integers(0, 0xFFFF), min_size=6, max_size=6))
def test_f16_is_taken_exactly_where_every_value_is_finite(values: list[int]) -> None:
    finite = bool(np.isfinite(np.array(values, np.uint16).view(np.float16)).all())
    try:
        made = features(bits(*values), dtype=FeatureType.F16)
    except BadFeatures:
        assert not finite
    else:
        assert finite
        assert made.data == bits(*values)


@given(st.lists(st.integers(0, 0xFFFF), min_size=6, max_size=6))
def test_bf16_is_taken_exactly_where_every_value_is_finite(values: list[int]) -> None:
    finite = bool(np.isfinite((np.array(values, np.uint32) << 16).view(np.float32)).all())
    try:
        features(bits(*values))
    except BadFeatures:
        assert not finite
    else:
        assert finite


def test_features_are_equal_bit_for_bit_only() -> None:
    assert features(ONES) == features(ONES)
    assert features(ONES) != features(bits(*[0x3F80] * 5, 0x3F81))


def test_features_on_a_device_are_read_when_somebody_asks_and_not_before() -> None:
    there = Elsewhere(ONES)
    made = features(there)
    assert (made.far, there.copies) == (there, 0)
    assert made.bits().tolist() == features(ONES).bits().tolist()
    assert made.near() == ONES


def test_features_on_a_device_are_of_the_length_that_their_shape_says() -> None:
    with pytest.raises(BadFeatures):
        features(Elsewhere(ONES[:-1]))


def test_what_is_brought_near_is_checked_anew() -> None:
    near = features(Elsewhere(ONES)).brought_near()
    assert (near.far, near) == (None, features(ONES))
    assert near.brought_near() is near
    broken = features(Elsewhere(bits(*[0x3F80] * 5, 0x7F80)))
    with pytest.raises(BadFeatures):
        broken.brought_near()
