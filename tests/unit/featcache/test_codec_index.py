"""Index entries: what they say, and that a forged one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featcache.codec import ForgedValue
from featcache.codec_index import decode_entry, encode_entry
from featcache.window import Tier
from tests.support.windows import GATE, YARD, features_of, stored


def test_an_entry_says_what_is_known_of_a_frame() -> None:
    frame = stored(10, seq=7, features=features_of(tokens=4), motion=0.1)
    info = decode_entry(encode_entry(frame), camera_id=GATE)
    assert (info.ref, info.t_us, info.seq, info.motion, info.tokens) == (frame.ref, 10, 7, 0.1, 4)
    assert (info.size_bytes, info.tier, info.reason) == (frame.size_bytes, Tier.REDIS, frame.reason)
    assert info.grid == frame.features.grid == (1, 4, 4)


def test_an_entry_made_from_the_index_is_the_one_made_from_the_frame() -> None:
    for frame in (stored(10, features=features_of()), stored(10)):
        entry = encode_entry(frame)
        assert encode_entry(decode_entry(entry, camera_id=GATE)) == entry


def test_the_size_comes_first_because_the_server_reads_it() -> None:
    frame = stored(10)
    assert encode_entry(frame).startswith(f"{frame.size_bytes}:".encode())


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"1:2:3",
        b"-1:0:0:-:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:0:-:2:0.1:motion:gate/10/jpeg/0",
        b"1:0:0:-:0:nan:motion:gate/10/jpeg/0",
        b"1:0:0:-:0:0.1:whim:gate/10/jpeg/0",
        b"1:0:0:-:0:0.1:motion:gate/10",
        b"1:0:4:-:0:0.1:motion:gate/10/jpeg/0",  # tokens without a grid, and the other way round
        b"1:0:0:1x4x4:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:4:1x4:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:4:1x4x4x4:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:4:1x0x4:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:4:1x4x99999999:0:0.1:motion:gate/10/jpeg/0",
        b"1:0:4:1x4x-4:0:0.1:motion:gate/10/jpeg/0",
        b"\xff\xfe",
        b"1" * 5000,
    ],
)
def test_a_forged_entry_is_refused(entry: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_entry(entry, camera_id=GATE)


def test_an_entry_of_another_camera_is_refused() -> None:
    with pytest.raises(ForgedValue):
        decode_entry(encode_entry(stored(10)), camera_id=YARD)


@given(st.binary(max_size=80))
def test_no_bytes_raise_anything_but_a_refusal(entry: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_entry(entry, camera_id=GATE)
