"""What is known of one camera's link."""

import pytest

from core.cameras import CameraState
from core.records import EpochClock, EpochStart, Gap, GapReason, Record
from ingest.errors import AuthFailed, NoVideoTrack, SourceLost, SourceStalled, SourceUnreachable
from ingest.link import Link

NOW = 1_000_000_000
MEDIA = EpochClock.MEDIA


def new_link(floor_us: int | None = None) -> Link:
    return Link(now_us=NOW, floor_us=floor_us, floor_reason=GapReason.SERVICE_STOPPED)


def frame(link: Link, t_us: int, *, restarted: bool = False) -> list[Record]:
    return link.frame(t_us, MEDIA, (320, 240), restarted=restarted, now_us=t_us)


def connected(link: Link, *times_us: int) -> list[Record]:
    link.connecting()
    link.opened("h264", 320, 240, now_us=NOW)
    return [record for t_us in times_us for record in frame(link, t_us)]


def test_a_camera_goes_from_connecting_by_way_of_a_keyframe_to_online() -> None:
    link = new_link()
    assert link.report().state is CameraState.CONNECTING
    link.connecting()
    link.opened("h264", 320, 240, now_us=NOW)
    assert link.report().state is CameraState.WAITING_FOR_KEYFRAME
    assert frame(link, NOW + 5) == [EpochStart(NOW + 5, 1, MEDIA)]
    report = link.report()
    assert (report.state, report.clock, report.epoch, report.codec) == (CameraState.ONLINE, MEDIA, 1, "h264")
    assert (report.frames_total, report.last_t_us, report.reconnects) == (1, NOW + 5, 0)


def test_a_gap_begins_one_frame_after_the_last_and_ends_at_the_next() -> None:
    link = new_link()
    connected(link, NOW, NOW + 100_000)
    [gap] = link.failed(SourceLost("gone"), now_us=NOW + 200_000)
    assert gap == Gap(NOW + 200_000, None, GapReason.UNREACHABLE)
    assert link.failed(SourceUnreachable("refused"), now_us=NOW + 300_000) == []
    records = connected(link, NOW + 900_000)
    assert records == [
        Gap(NOW + 200_000, NOW + 900_000, GapReason.UNREACHABLE),
        EpochStart(NOW + 900_000, 2, MEDIA),
    ]


def test_a_gap_is_named_after_the_latest_reason() -> None:
    link = new_link()
    connected(link, NOW)
    stalled = link.silent(now_us=NOW + 9)
    assert stalled == [Gap(NOW + 1, None, GapReason.STALLED)]
    assert link.failed(SourceStalled("silent"), now_us=NOW + 10) == []
    assert link.failed(AuthFailed("no"), now_us=NOW + 20) == [Gap(NOW + 1, None, GapReason.AUTH_FAILED)]


def test_attempts_to_reconnect_do_not_make_the_state_flicker() -> None:
    link = new_link()
    connected(link, NOW)
    link.failed(SourceUnreachable("refused"), now_us=NOW + 10)
    since = link.report().since_us
    link.connecting()
    link.failed(SourceUnreachable("refused"), now_us=NOW + 20)
    report = link.report()
    assert (report.state, report.since_us, report.reconnects) == (CameraState.OFFLINE, since, 1)
    assert (report.code, report.message) == ("source_unreachable", "refused")


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (AuthFailed("x"), CameraState.AUTH_FAILED, GapReason.AUTH_FAILED),
        (NoVideoTrack("x"), CameraState.OFFLINE, GapReason.NO_VIDEO),
        (SourceStalled("x"), CameraState.STALLED, GapReason.STALLED),
    ],
)
def test_a_camera_that_never_answered_has_a_gap_from_the_start(
    error: AuthFailed, state: CameraState, reason: GapReason
) -> None:
    link = new_link()
    assert link.failed(error, now_us=NOW + 50) == [Gap(NOW, None, reason)]
    assert link.report().state is state


def test_the_time_before_the_service_began_is_a_gap_to_the_first_frame() -> None:
    link = new_link(floor_us=NOW - 500)
    assert link.began() == [Gap(NOW - 499, None, GapReason.SERVICE_STOPPED)]
    assert connected(link, NOW + 7)[0] == Gap(NOW - 499, NOW + 7, GapReason.SERVICE_STOPPED)


def test_a_camera_that_is_away_when_the_service_begins_has_two_gaps() -> None:
    link = new_link(floor_us=NOW - 500)
    link.began()
    assert link.failed(SourceUnreachable("refused"), now_us=NOW + 30) == [
        Gap(NOW - 499, NOW, GapReason.SERVICE_STOPPED),
        Gap(NOW, None, GapReason.UNREACHABLE),
    ]
    assert connected(link, NOW + 90)[0] == Gap(NOW, NOW + 90, GapReason.UNREACHABLE)


def test_a_restarted_clock_is_a_record_within_the_same_epoch() -> None:
    link = new_link()
    connected(link, NOW)
    assert frame(link, NOW + 9, restarted=True) == [EpochStart(NOW + 9, 1, MEDIA, restarted_clock=True)]


def test_the_end_of_a_file_is_a_gap_of_its_own_kind() -> None:
    link = new_link()
    connected(link, NOW, NOW + 40_000)
    assert link.ended(now_us=NOW + 50_000) == [Gap(NOW + 80_000, None, GapReason.ENDED)]
    assert (link.report().state, link.report().code) == (CameraState.OFFLINE, None)


def test_a_gap_is_never_empty() -> None:
    link = new_link()
    link.failed(SourceUnreachable("x"), now_us=NOW)
    [gap, _] = connected(link, NOW - 100)
    assert gap == Gap(NOW, NOW + 1, GapReason.UNREACHABLE)


def test_health_counts_from_the_first_frame_of_a_connection() -> None:
    link = new_link()
    assert link.healthy_us(NOW) == 0
    connected(link, NOW)
    assert link.healthy_us(NOW + 7) == 7
    link.failed(SourceLost("x"), now_us=NOW + 8)
    assert link.healthy_us(NOW + 9) == 0
    link.skipped({"corrupt": 2})
    link.skipped({"corrupt": 1})
    assert link.report().skipped == (("corrupt", 3),)
