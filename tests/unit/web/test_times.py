import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.times import BadTime, from_rfc3339, to_rfc3339


def test_a_time_is_written_in_utc_with_microseconds() -> None:
    assert to_rfc3339(0) == "1970-01-01T00:00:00.000000Z"
    assert to_rfc3339(1_796_047_385_250_000) == "2026-11-30T14:03:05.250000Z"


@given(st.integers(0, 253_402_300_799_999_999))
def test_every_microsecond_survives_the_wire(t_us: int) -> None:
    assert from_rfc3339(to_rfc3339(t_us)) == t_us


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-11-30T15:03:05+01:00", "2026-11-30T14:03:05.000000Z"),
        ("2026-11-30t14:03:05z", "2026-11-30T14:03:05.000000Z"),
        ("2026-11-30 14:03:05.5Z", "2026-11-30T14:03:05.500000Z"),
        ("2026-11-30T14:03:05.1234567Z", "2026-11-30T14:03:05.123456Z"),
        ("2026-11-30T00:00:00-05:30", "2026-11-30T05:30:00.000000Z"),
    ],
)
def test_offsets_and_fractions_are_read(text: str, same: str) -> None:
    assert to_rfc3339(from_rfc3339(text)) == same


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-11-30", "2026-11-30T14:03:05", "2026-02-30T00:00:00Z", "2026-11-30T24:61:00Z",
     "1969-12-31T23:59:59Z", "2026-11-30T14:03:05.Z", "2026-11-30T14:03:60Z", "٢٠٢٦-11-30T14:03:05Z",
     "0001-01-01T00:00:00+23:59", "2026-11-30T14:03:05+99:00", "1796047385"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadTime):
        from_rfc3339(text)
