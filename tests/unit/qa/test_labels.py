"""Time labels."""

from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from core.spans import Span
from qa.labels import crosses_midnight, local_time, time_label
from tests.support.qa_stage import BERLIN, local_us, spanning

T_US = local_us("2026-11-30 14:03:05.99")


def test_a_label_is_never_rounded_up() -> None:
    assert time_label(T_US, BERLIN) == "[14:03:05]"
    assert time_label(T_US + 9_999, BERLIN, tenths=True) == "[14:03:05.9]"
    assert time_label(T_US, BERLIN, dated=True) == "[2026-11-30 14:03:05]"
    assert time_label(T_US, ZoneInfo("Asia/Kolkata")) == "[18:33:05]"


def test_a_span_up_to_midnight_does_not_cross_it() -> None:
    assert not crosses_midnight(spanning("2026-11-29 23:00:00", "2026-11-30 00:00:00"), BERLIN)
    assert crosses_midnight(
        Span(local_us("2026-11-29 23:00:00"), local_us("2026-11-30 00:00:00") + 1), BERLIN
    )


@given(t_us=st.integers(0, 4_000_000_000_000_000))
def test_local_time_is_exact_to_the_microsecond(t_us: int) -> None:
    at = local_time(t_us, BERLIN)
    assert at.microsecond == t_us % 1_000_000
    assert int(at.timestamp()) == t_us // 1_000_000
