"""What is known of cameras that others take in, from look to look; time is told."""

from core.cameras import CameraState, StateReport
from core.ids import CameraId, Incarnation
from featcache.bulletin import Bulletin
from featcache.directory import Listed, Roll
from livelens.reader_known import LOST_KEPT_US, SILENT_AFTER_US, KnownCameras
from tests.support.bulletins import bulletin_of
from tests.support.windows import FIRST_LIFE, GATE, NOON_US, SECOND_LIFE, YARD

SECOND_US = 1_000_000


def roll_of(*bulletins: Bulletin, age_us: int = 0, ended: frozenset[CameraId] = frozenset()) -> Roll:
    redis_us = NOON_US + 3_600_000_000  # a clock that is an hour off
    return Roll(redis_us, {b.camera.id: Listed(b, redis_us - age_us) for b in bulletins}, ended)


def known_of(*bulletins: Bulletin, mono_us: int = 0, age_us: int = 0) -> KnownCameras:
    known = KnownCameras()
    known.take(roll_of(*bulletins, age_us=age_us), mono_us=mono_us)
    return known


def state_of(known: KnownCameras, mono_us: int) -> tuple[CameraState, str | None]:
    report = known.status(GATE, mono_us=mono_us, answered_by="measured").report
    return report.state, report.code


def test_cameras_are_known_by_id_in_order_with_their_lives() -> None:
    known = known_of(bulletin_of(camera_id=YARD), bulletin_of())
    assert list(known) == [GATE, YARD]
    assert known.lives == {GATE: FIRST_LIFE, YARD: FIRST_LIFE}
    assert known.camera(GATE).name == "Gate"
    assert YARD in known
    assert CameraId("nobody") not in known


def test_what_an_owner_tells_is_shown_while_it_is_heard_of() -> None:
    bulletin = bulletin_of(kept=(("motion", 3),), frame_rate=24.0, delay_s=0.1, encoded=False)
    known = known_of(bulletin)
    status = known.status(GATE, mono_us=SILENT_AFTER_US, answered_by="qwen")
    assert (status.report, status.kept, status.frame_rate, status.delay_s, status.answered_by) == (
        bulletin.report,
        bulletin.kept,
        24.0,
        0.1,
        "qwen",
    )
    assert not known.encoded(GATE)


def test_a_silent_owner_s_camera_is_offline_from_when_it_was_last_heard_of() -> None:
    known = known_of(bulletin_of(frame_rate=24.0, at_us=NOON_US))
    assert known.silent_since_us(GATE, mono_us=SILENT_AFTER_US) is None
    after_us = SILENT_AFTER_US + 1
    assert known.silent_since_us(GATE, mono_us=after_us) == NOON_US
    status = known.status(GATE, mono_us=after_us, answered_by="measured")
    assert (status.report.state, status.report.code) == (CameraState.OFFLINE, "owner_away")
    assert (status.report.since_us, status.frame_rate) == (NOON_US, 0.0)


def test_how_old_a_bulletin_is_counts_by_redis_clock_and_then_by_ours() -> None:
    known = known_of(bulletin_of(), mono_us=100 * SECOND_US, age_us=4 * SECOND_US)
    assert state_of(known, 101 * SECOND_US)[0] is CameraState.ONLINE
    assert state_of(known, 102 * SECOND_US)[0] is CameraState.OFFLINE
    known.take(roll_of(bulletin_of()), mono_us=103 * SECOND_US)
    assert state_of(known, 103 * SECOND_US) == (CameraState.ONLINE, None)


def test_a_disabled_camera_stays_so_whoever_is_heard_of() -> None:
    known = known_of(bulletin_of(report=StateReport(CameraState.DISABLED, 1)))
    assert state_of(known, 100 * SECOND_US) == (CameraState.DISABLED, None)


def test_a_camera_that_was_deleted_is_forgotten_at_once() -> None:
    known = known_of(bulletin_of(), bulletin_of(camera_id=YARD))
    known.take(roll_of(bulletin_of(camera_id=YARD), ended=frozenset({GATE})), mono_us=1)
    assert list(known) == [YARD]


def test_a_camera_that_redis_has_lost_is_kept_for_a_while_and_then_forgotten() -> None:
    known = known_of(bulletin_of())
    known.take(roll_of(), mono_us=SECOND_US)
    known.take(roll_of(), mono_us=SECOND_US + LOST_KEPT_US)
    assert GATE in known
    assert known.silent_since_us(GATE, mono_us=SECOND_US + LOST_KEPT_US) is not None
    known.take(roll_of(), mono_us=SECOND_US + LOST_KEPT_US + 1)
    assert GATE not in known


def test_a_camera_that_is_found_again_was_never_lost() -> None:
    known = known_of(bulletin_of())
    known.take(roll_of(), mono_us=SECOND_US)
    known.take(roll_of(bulletin_of()), mono_us=2 * SECOND_US)
    known.take(roll_of(), mono_us=LOST_KEPT_US + 2 * SECOND_US)
    assert GATE in known


def test_a_new_life_takes_the_place_of_the_old_one() -> None:
    known = known_of(bulletin_of())
    known.take(roll_of(bulletin_of(life=SECOND_LIFE)), mono_us=1)
    assert known.lives == {GATE: Incarnation(SECOND_LIFE)}


def test_the_owner_whose_clock_is_furthest_away_is_named() -> None:
    assert KnownCameras().furthest_ahead() is None
    late, early = bulletin_of(at_us=NOON_US), bulletin_of(camera_id=YARD, at_us=NOON_US + 9 * SECOND_US)
    known = KnownCameras()
    listed = {b.camera.id: Listed(b, NOON_US + 3 * SECOND_US) for b in (late, early)}
    known.take(Roll(NOON_US + 3 * SECOND_US, listed, frozenset()), mono_us=0)
    assert known.furthest_ahead() == (YARD, 6 * SECOND_US)
