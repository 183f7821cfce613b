"""One frame as one value: it comes back bit for bit, and nothing forged gets through."""

import contextlib
import pickle
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featcache.codec import HEADER_BYTES, ForgedValue, decode_frame, encode_frame
from tests.support.windows import GATE, YARD, features_of, stored

FRAME = stored(10, seq=3, features=features_of(tokens=4, width=8), jpeg=b"picture", motion=0.1)
VALUE = encode_frame(FRAME)


def reason_of(value: bytes) -> str:
    with pytest.raises(ForgedValue) as caught:
        decode_frame(value, camera_id=GATE, t_us=10)
    return caught.value.reason


def test_a_frame_comes_back_bit_for_bit() -> None:
    assert decode_frame(VALUE, camera_id=GATE, t_us=10) == FRAME


def test_a_frame_without_features_comes_back_too() -> None:
    plain = stored(10, jpeg=b"")
    assert decode_frame(encode_frame(plain), camera_id=GATE, t_us=10) == plain


def test_features_lie_right_behind_the_header() -> None:
    assert FRAME.features is not None
    assert VALUE[HEADER_BYTES : HEADER_BYTES + len(FRAME.features.data)] == FRAME.features.data


@pytest.mark.parametrize("length", [0, 10, HEADER_BYTES, len(VALUE) - 1])
def test_a_short_value_is_refused(length: int) -> None:
    assert reason_of(VALUE[:length]) in {"short", "length"}


def test_a_longer_value_is_refused() -> None:
    assert reason_of(VALUE + b"x") == "length"


@pytest.mark.parametrize("dtype", [0, 3, 9])
def test_a_wrong_dtype_is_refused(dtype: int) -> None:
    assert reason_of(VALUE[:5] + bytes([dtype]) + VALUE[6:]) == "features"


@pytest.mark.parametrize(
    ("tokens", "width"), [(4, 9), (5, 8), (0, 8), (1 << 31, 1 << 31), (1 << 20, 1 << 20)]
)
def test_a_wrong_shape_is_refused_before_memory_is_taken(tokens: int, width: int) -> None:
    assert reason_of(VALUE[:8] + struct.pack("<II", tokens, width) + VALUE[16:]) == "features"


@pytest.mark.parametrize("bits", [0x7F80, 0xFF80, 0x7FC0])
def test_values_that_are_not_finite_are_refused(bits: int) -> None:
    forged = VALUE[:HEADER_BYTES] + struct.pack("<H", bits) + VALUE[HEADER_BYTES + 2 :]
    assert reason_of(forged) == "features"


class _Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def test_a_pickle_is_refused_and_never_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    assert reason_of(pickle.dumps(_Canary(canary)) + b"." * 200) == "format"
    assert not canary.exists()


def test_a_frame_under_the_key_of_another_is_refused() -> None:
    for camera_id, t_us in ((YARD, 10), (GATE, 11)):
        with pytest.raises(ForgedValue, match="misplaced"):
            decode_frame(VALUE, camera_id=camera_id, t_us=t_us)


def test_features_of_another_encoder_than_the_ref_names_are_refused() -> None:
    other = replace(FRAME, features=features_of(tokens=4, width=8, version="ffffffffffff"))
    assert reason_of(encode_frame(other)) == "features"


@given(at=st.integers(0, len(VALUE) - 1), byte=st.integers(0, 255))
def test_a_changed_byte_gives_a_frame_or_a_refusal_and_nothing_else(at: int, byte: int) -> None:
    with contextlib.suppress(ForgedValue):
        decode_frame(VALUE[:at] + bytes([byte]) + VALUE[at + 1 :], camera_id=GATE, t_us=10)


@given(st.binary(max_size=300))
def test_no_bytes_at_all_raise_anything_but_a_refusal(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_frame(value, camera_id=GATE, t_us=10)
