"""Records as JSON: each kind comes back, a forged one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import (
    Colour,
    Direction,
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    ObjectTrack,
    PathPoint,
    Record,
    SceneChange,
    SceneChangeKind,
    Side,
    StaticSpan,
)
from featcache.codec import ForgedValue
from featcache.codec_records import decode_record, encode_record

PATH = (PathPoint(1, 0.25, 0.5), PathPoint(2, 0.1, 1.0))


@pytest.mark.parametrize(
    "record",
    [
        Gap(1, None, GapReason.STALLED),
        Gap(1, 2, GapReason.ENDED),
        StaticSpan(1, 2),
        EpochStart(1, 2, EpochClock.ARRIVAL, True),
        SceneChange(1, SceneChangeKind.LIGHT_ON),
        ObjectTrack(1, 1, 2, False, Side.LEFT, None, Direction.RIGHT, 0.1, Colour.RED, PATH),
        ObjectTrack(1, 1, 2, True, None, Side.TOP, None, 0.1, None, ()),
    ],
    ids=lambda record: type(record).__name__,
)
def test_every_kind_of_record_comes_back(record: Record) -> None:
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{}",
        b"[]",
        b"7",
        b'["Gap",1]',
        b'["Gap",true,null,"stalled"]',
        b'["Gap",1,null,"whim"]',
        b'["StaticSpan",1,2.5]',
        b'["StaticSpan",[],2]',
        b'["ObjectTrack",1,1,2,false,null,null,null,1e999,null,[]]',
        b'["ObjectTrack",1,1,2,false,null,null,null,0.1,null,[[1]]]',
        b'["ObjectTrack",1,1,2,false,null,null,null,1' + b"0" * 400 + b",null,[]]",
        b'["__import__","os"]',
        b"[" * 20_000,
        b" " * 100_000,
    ],
)
def test_a_forged_record_is_refused(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_record(value)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_refusal(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_record(value)
