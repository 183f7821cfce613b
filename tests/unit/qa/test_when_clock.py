"""Local wall times and the instants they are."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from qa.when_clock import Instants, NoteKind, day_start_us, instants_of, local_now

BERLIN = ZoneInfo("Europe/Berlin")


def naive(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_an_ordinary_time_is_one_instant() -> None:
    found = instants_of(naive("2026-11-30 14:03:05.25"), BERLIN)
    assert found == Instants(1_796_043_785_250_000, 1_796_043_785_250_000)


def test_a_skipped_time_is_shifted_by_the_jump() -> None:
    found = instants_of(naive("2025-03-30 02:30"), BERLIN)
    assert found.note is not None
    assert found.note.kind is NoteKind.NONEXISTENT
    assert local_now(found.first_us, BERLIN) == naive("2025-03-30 03:30")
    assert found.first_us == found.last_us


def test_a_repeated_time_is_two_instants_an_hour_apart() -> None:
    found = instants_of(naive("2025-10-26 02:30"), BERLIN)
    assert found.last_us - found.first_us == 3_600_000_000
    assert found.note is not None
    assert found.note.kind is NoteKind.AMBIGUOUS


def test_a_day_whose_midnight_was_skipped_begins_at_its_first_instant() -> None:
    beirut = ZoneInfo("Asia/Beirut")
    start = day_start_us(date(2022, 3, 27), beirut)
    assert local_now(start, beirut) == naive("2022-03-27 01:00")


@given(
    t=st.integers(0, 2_000_000_000),
    zone=st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Asia/Kolkata"]),
)
def test_every_instant_is_found_again_from_its_wall_time(t: int, zone: str) -> None:
    at = ZoneInfo(zone)
    found = instants_of(local_now(t * 1_000_000, at), at)
    assert t * 1_000_000 in (found.first_us, found.last_us)
