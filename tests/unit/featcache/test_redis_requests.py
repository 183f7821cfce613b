"""Requests of readers to owners: they come back as they were, and nothing forged gets through."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from featcache.codec import ForgedValue
from featcache.redis_requests import Request, decode_request, encode_request
from tests.support.windows import FIRST_LIFE, GATE

REQUEST = Request(GATE, FIRST_LIFE, (10, 20), "0123456789abcdef")


def test_a_request_comes_back_as_it_was() -> None:
    assert decode_request(encode_request(REQUEST)) == REQUEST


def test_more_frames_than_one_request_may_name_are_not_asked_for() -> None:
    many = Request(GATE, FIRST_LIFE, tuple(range(500)), REQUEST.reply)
    assert len(decode_request(encode_request(many)).times_us) == 128


def forged(**changes: object) -> bytes:
    return json.dumps(json.loads(encode_request(REQUEST)) | changes).encode()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"{}",
        pickle.dumps(REQUEST.times_us),
        forged(camera="../gate"),
        forged(camera=7),
        forged(times=[]),
        forged(times=[1.5]),
        forged(times=[True]),
        forged(times=[-1]),
        forged(times="10"),
        forged(times=[1] * 129),
        forged(reply="x" * 16),
        forged(reply="0123456789abcdef\n"),
        forged(life=None),
        b"[" * 20_000,
        forged(life="x" * 20_000),
    ],
)
def test_a_forged_request_is_refused(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_request(value)


@given(st.binary(max_size=100))
def test_no_bytes_raise_anything_but_a_refusal(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decode_request(value)
