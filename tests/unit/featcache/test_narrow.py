"""Features at 8 bit come back in the encoder's own type, each value within half a step of its token's scale."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.frames import BadFeatures, Features, FeatureType
from featcache.codec import decode_frame, encode_frame
from featcache.narrow import NarrowEncoder, _floats, narrowed, widened, widens
from featcache.paged_memory import PagedMemory
from tests.support.pictures import ArrayPicture
from tests.support.windows import GATE, ScriptedEncoder, features_of, stored


def made(values: list[list[float]], dtype: FeatureType = FeatureType.BF16) -> Features:
    rows = np.array(values, np.float32)
    data = (
        rows.astype("<f2").tobytes()
        if dtype is FeatureType.F16
        else (rows.view(np.uint32) >> 16).astype("<u2").tobytes()
    )
    return Features(data, dtype, (len(values), len(values[0])), (1, 4, 4), "0123456789ab")


def back(features: Features) -> Features:
    frame = widened(stored(10, features=narrowed(features)))
    assert frame.features is not None
    return frame.features


@pytest.mark.parametrize("dtype", [FeatureType.BF16, FeatureType.F16])
@given(
    values=st.lists(
        st.lists(st.floats(-1000, 1000, width=16), min_size=5, max_size=5), min_size=1, max_size=6
    )
)
def test_each_value_comes_back_within_half_a_step(dtype: FeatureType, values: list[list[float]]) -> None:
    features = made(values, dtype)
    found = back(features)
    assert (found.dtype, found.shape, found.grid) == (dtype, features.shape, features.grid)
    before, after = _floats(features), _floats(found)
    step = np.abs(before).max(axis=1, keepdims=True) / 127
    rounding = np.abs(before) * 2**-8 + 2**-24
    assert (np.abs(after - before) <= step * 0.51 + rounding).all()


def test_narrow_features_take_half_the_bytes_and_a_scale_a_token() -> None:
    features = features_of(tokens=4, width=64)
    assert len(narrowed(features).data) == 4 * 64 + 4 * 4
    assert narrowed(narrowed(features)) == narrowed(features)


def test_a_token_of_zeros_stays_one() -> None:
    assert _floats(back(made([[0.0, 0.0], [1.0, -1.0]])))[0].tolist() == [0.0, 0.0]


def test_a_frame_with_16_bit_features_or_none_is_left_as_it_is() -> None:
    for frame in (stored(10), stored(10, features=features_of())):
        assert widened(frame) is frame


@pytest.mark.parametrize("dtype", [FeatureType.BF16, FeatureType.F16])
def test_narrow_frames_travel_as_they_are_kept(dtype: FeatureType) -> None:
    frame = stored(10, features=narrowed(made([[1.0, 2.0, -3.0]], dtype)))
    assert decode_frame(encode_frame(frame), camera_id=GATE, t_us=10) == frame


@pytest.mark.parametrize("scale", [np.nan, np.inf, 0.0, -1.0])
def test_a_scale_that_is_not_finite_and_above_zero_is_refused(scale: float) -> None:
    good = narrowed(made([[1.0, 2.0]]))
    forged = bytes(good.data[:2]) + np.array([scale], "<f4").tobytes()
    with pytest.raises(BadFeatures, match="scales"):
        replace(good, data=forged)


def test_a_scale_too_large_for_the_type_is_refused_when_it_is_widened() -> None:
    for dtype in (FeatureType.BF16, FeatureType.F16):
        good = narrowed(made([[1.0, 2.0]], dtype))
        forged = replace(good, data=bytes(good.data[:2]) + np.array([3e38], "<f4").tobytes())
        with pytest.raises(BadFeatures, match="finite"):
            widened(stored(10, features=forged))


async def test_a_narrow_encoder_names_itself_in_the_detail_only() -> None:
    encoder = NarrowEncoder(ScriptedEncoder())
    assert (encoder.version, encoder.frame_detail) == (ScriptedEncoder.version, "4i8")
    features = await encoder.encode(ArrayPicture(np.zeros((4, 4), np.uint8)))
    assert features is not None
    assert features.dtype is FeatureType.I8


async def test_what_a_narrow_encoder_knows_nothing_of_stays_unknown() -> None:
    scripted = ScriptedEncoder()
    scripted.answer = lambda: None
    assert await NarrowEncoder(scripted).encode(ArrayPicture(np.zeros((4, 4), np.uint8))) is None


# on a device


@pytest.mark.torch
@pytest.mark.parametrize("dtype", [FeatureType.BF16, FeatureType.F16])
@pytest.mark.parametrize("width", [5, 64])
def test_on_a_device_they_are_widened_to_the_same_bits_as_in_memory(dtype: FeatureType, width: int) -> None:
    rows = np.random.default_rng(3).standard_normal((7, width)) * 10.0 ** np.arange(-4, 3)[:, None]
    narrow = narrowed(made(rows.astype(np.float16).tolist(), dtype))
    memory = PagedMemory(100 * 64, "cpu", page_bytes=64)
    far = memory.store(narrow.near())
    assert far is not None
    there = widened(stored(10, features=replace(narrow, data=far))).features
    in_memory = widened(stored(10, features=narrow)).features
    assert there is not None
    assert in_memory is not None
    assert there == in_memory
    assert there.far is not None
    assert there.far.room_bytes == far.room_bytes
    assert bytes(there.far.on("cpu").numpy()) == in_memory.data
    assert there.far.on("meta") is None


@pytest.mark.parametrize(
    ("dtype", "scale", "good"),
    [
        (FeatureType.I8, 1e36, True),
        (FeatureType.I8, 2.7e36, False),
        (FeatureType.I8_OF_F16, 500.0, True),
        (FeatureType.I8_OF_F16, 520.0, False),
    ],
)
def test_scales_that_make_more_than_the_wide_type_holds_are_told(
    dtype: FeatureType, scale: float, good: bool
) -> None:
    data = bytes(6) + np.array([1.0, scale], "<f4").tobytes()
    assert widens(Features(data, dtype, (2, 3), (1, 2, 4), "0123456789ab")) is good


def test_what_narrowing_makes_of_the_greatest_values_widens() -> None:
    for dtype, greatest in ((FeatureType.F16, 65504.0), (FeatureType.BF16, 3.3e38)):
        assert widens(narrowed(made([[greatest / 1.01, -1.0]], dtype)))
