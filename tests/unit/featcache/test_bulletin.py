"""What owners tell of cameras, as JSON: it comes back whole, without a login, and a forged one is refused."""

import json
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.cameras import CameraState, Credentials, Source, StateReport, Transport
from core.records import EpochClock
from featcache.bulletin import Bulletin, decode_bulletin, encode_bulletin
from featcache.codec import ForgedValue
from tests.support.bulletins import bulletin_of
from tests.support.windows import FIRST_LIFE, GATE

FULL = bulletin_of(
    name="Tor „Nord“ 门",
    zone=ZoneInfo("Asia/Shanghai"),
    source=Source("rtsp://10.0.0.5/main", transport=Transport.UDP, loop=True),
    report=StateReport(
        CameraState.STALLED,
        10,
        "source_stalled",
        "nothing came for 10 s",
        EpochClock.MEDIA,
        epoch=2,
        reconnects=3,
        frames_total=40,
        skipped=(("damaged", 5),),
        last_t_us=60,
        width_px=1280,
        height_px=720,
        codec="h264",
    ),
    kept=(("first", 1), ("motion", 7)),
    frame_rate=24.9,
    delay_s=0.05,
    encoded=False,
    at_us=70,
)


def decoded(value: bytes) -> Bulletin:
    return decode_bulletin(value, camera_id=GATE, incarnation=FIRST_LIFE)


@pytest.mark.parametrize("bulletin", [bulletin_of(), FULL], ids=["new", "full"])
def test_a_bulletin_comes_back(bulletin: Bulletin) -> None:
    assert decoded(encode_bulletin(bulletin)) == bulletin


def test_a_login_is_never_written() -> None:
    source = Source("rtsp://10.0.0.5/main", Credentials("operator", "very secret"))
    value = encode_bulletin(bulletin_of(source=source))
    assert b"operator" not in value
    assert b"secret" not in value


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"at": -1},
        {"at": 1.5},
        {"kept": []},
        {"kept": {"motion": True}},
        {"rate": "fast"},
        {"encoded": 1},
        {"camera": None},
        {"camera": {"zone": "../../etc/passwd"}},
        {"camera": {"zone": "Mars/Base"}},
        {"camera": {"name": "x" * 5000}},
        {"camera": {"transport": "pigeon"}},
        {"state": {"state": "asleep"}},
        {"state": {"last": "now"}},
        {"state": {"skipped": {str(n): n for n in range(100)}}},
    ],
    ids=str,
)
def test_a_field_that_is_not_ours_is_refused(change: dict[str, object]) -> None:
    fields = json.loads(encode_bulletin(FULL))
    for name, value in change.items():
        inner = {**fields[name], **value} if isinstance(value, dict) and name != "kept" else value
        fields[name] = inner
    with pytest.raises(ForgedValue):
        decoded(json.dumps(fields).encode())


@given(st.binary(max_size=200))
def test_whatever_lies_there_is_refused_and_nothing_else_happens(value: bytes) -> None:
    with pytest.raises(ForgedValue):
        decoded(value)


def test_a_bulletin_that_goes_on_and_on_is_refused() -> None:
    with pytest.raises(ForgedValue):
        decoded(encode_bulletin(FULL) + b" " * 20_000)
