import pytest

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


def track(number: int = 1, end_us: int = 20) -> ObjectTrack:
    return ObjectTrack(
        number,
        10,
        end_us,
        True,
        Side.LEFT,
        None,
        Direction.RIGHT,
        0.1,
        Colour.WHITE,
        (PathPoint(10, 0.1, 0.5),),
    )


RECORDS: list[Record] = [
    Gap(10, None, GapReason.STALLED),
    StaticSpan(10, 20),
    EpochStart(10, 1, EpochClock.MEDIA),
    track(),
    SceneChange(10, SceneChangeKind.LIGHT_OFF),
]


def test_records_that_begin_together_have_keys_of_their_own() -> None:
    assert len({record.key for record in RECORDS}) == len(RECORDS)


def test_a_closed_gap_replaces_the_open_one() -> None:
    assert Gap(10, None, GapReason.STALLED).key == Gap(10, 20, GapReason.STALLED).key


def test_a_gap_whose_reason_became_known_replaces_the_guess() -> None:
    assert Gap(10, None, GapReason.UNREACHABLE).key == Gap(10, None, GapReason.AUTH_FAILED).key


def test_a_grown_track_or_static_span_replaces_the_shorter_one() -> None:
    assert track(end_us=20).key == track(end_us=30).key
    assert StaticSpan(10, 20).key == StaticSpan(10, 30).key


def test_two_things_that_arrive_together_are_two_tracks() -> None:
    assert track(1).key != track(2).key


def test_two_changes_at_one_moment_are_both_kept() -> None:
    assert SceneChange(10, SceneChangeKind.LIGHT_OFF).key != SceneChange(10, SceneChangeKind.CAMERA_MOVED).key


@pytest.mark.parametrize("record", [RECORDS[2], RECORDS[4]])
def test_records_of_one_moment_end_where_they_start(record: Record) -> None:
    assert record.end_us == record.start_us == 10
