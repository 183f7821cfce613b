import json
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from core.cameras import Camera, CameraState, Credentials, ProbeReport, Source, StateReport
from core.errors import ServiceError
from core.frames import KeepReason
from core.ids import CameraId, ConversationId, Incarnation, RequestId, make_frame_ref
from core.records import (
    Colour,
    Direction,
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    ObjectTrack,
    SceneChange,
    SceneChangeKind,
    Side,
    StaticSpan,
)
from core.spans import Span
from featcache.errors import WindowUnavailable
from featcache.window import FrameInfo, Head, Tier
from qa.answers import (
    AnswerDelta,
    AnswerDone,
    AnswerStarted,
    AnswerUsage,
    Citation,
    Coverage,
    CoverageGap,
    Outcome,
    Timings,
    UsedFrame,
)
from web import wire
from web.ports import CameraStatus
from web.present import (
    answer_message,
    camera_view,
    error_message,
    frame_views,
    probe_view,
    shown_url,
    thin,
    tier_views,
    timeline_view,
)

GATE = CameraId("gate")
BERLIN = ZoneInfo("Europe/Berlin")
NOW_US = 1_796_047_385_250_000
LIFE = Incarnation("life1")


def camera() -> Camera:
    source = Source("rtsp://10.0.0.5:554/main", Credentials("admin", "s3cret"))
    return Camera(GATE, "Gate", source, BERLIN, LIFE, NOW_US - 1_000_000)


def status() -> CameraStatus:
    report = StateReport(
        CameraState.ONLINE, NOW_US, frames_total=5, skipped=(("corrupt", 2),), last_t_us=NOW_US - 40_000
    )
    return CameraStatus(report, (("first", 1),), 25.0, 0.2101, "measured")


def info(t_us: int, motion: float = 0.1, tier: Tier = Tier.MEMORY) -> FrameInfo:
    return FrameInfo(make_frame_ref(GATE, t_us), t_us, 0, KeepReason.MOTION, motion, False, 0, 10, tier)


def test_a_camera_is_shown_without_its_password() -> None:
    head = Head(LIFE, 1, 2, None, 2, 99)
    shown = wire.to_json(camera_view(camera(), status(), head, now_us=NOW_US))
    assert "s3cret" not in shown
    told = json.loads(shown)
    assert told["source"] == {
        "url": "rtsp://10.0.0.5:554/main",
        "transport": "tcp",
        "loop": False,
        "username": "admin",
        "has_password": True,
    }
    assert told["state"]["last_frame_age_s"] == 0.04
    assert told["state"]["skipped"] == {"corrupt": 2}
    assert told["window"]["bytes"] == 99
    assert told["zone"] == "Europe/Berlin"


def test_a_camera_without_an_answering_window_is_still_shown() -> None:
    assert camera_view(camera(), status(), None, now_us=NOW_US).window is None


def test_secrets_in_an_address_are_masked() -> None:
    assert shown_url("rtsp://a:b@cam/x") == "rtsp://cam/x"
    assert (
        shown_url("rtsp://cam/x?user=a&Password=b&channel=1") == "rtsp://cam/x?user=a&Password=***&channel=1"
    )
    assert shown_url("rtsp://cam/x?api_token=abc") == "rtsp://cam/x?api_token=***"
    assert shown_url("file:///clips/a.mp4") == "file:///clips/a.mp4"
    assert shown_url("rtsp://[") == "***"


def test_labels_in_a_list_are_those_of_prompts_about_the_same_span() -> None:
    day = 86_400_000_000
    span = Span(NOW_US - day, NOW_US)
    (view,) = frame_views([info(NOW_US - day)], span, BERLIN)
    assert view.label == "[2026-11-29 15:03:05]"
    (view,) = frame_views([info(NOW_US - 1)], Span(NOW_US - 10, NOW_US), BERLIN)
    assert view.label == "[15:03:05]"


@given(st.lists(st.integers(0, 9_999), unique=True, max_size=200), st.integers(1, 50))
def test_thinning_keeps_order_the_limit_and_the_liveliest(times: list[int], limit: int) -> None:
    infos = [info(t_us, motion=(t_us * 7919 % 1000) / 1000) for t_us in sorted(times)]
    kept = thin(infos, Span(0, 10_000), limit)
    assert len(kept) <= limit or len(infos) <= limit
    assert [one.t_us for one in kept] == sorted(one.t_us for one in kept)
    if infos:
        assert max(one.motion for one in kept) == max(one.motion for one in infos)


def test_runs_of_frames_in_one_place_become_one_span() -> None:
    runs = tier_views([info(1), info(2), info(3, tier=Tier.REDIS), info(9)])
    assert [(run.from_, run.to, run.tier) for run in runs] == [
        (1, 3, Tier.MEMORY),
        (3, 4, Tier.REDIS),
        (9, 10, Tier.MEMORY),
    ]


def test_the_timeline_sorts_records_by_kind() -> None:
    records = (
        Gap(1, None, GapReason.STALLED),
        StaticSpan(2, 3),
        EpochStart(1, 1, EpochClock.MEDIA),
        ObjectTrack(1, 4, 5, False, Side.LEFT, None, Direction.RIGHT, 0.05, Colour.WHITE, ()),
        SceneChange(6, SceneChangeKind.LIGHT_OFF),
    )
    head = Head(LIFE, 1, 9, 1, 3, 99)
    view = timeline_view(
        camera(), Span(0, 10), [info(1), info(2), info(8)], records, head=head, now_us=9, limit=2
    )
    told = json.loads(wire.to_json(view))
    assert told["gaps"] == [{"from": "1970-01-01T00:00:00.000001Z", "to": None, "reason": "stalled"}]
    assert [len(told[name]) for name in ("static", "tracks", "scenes", "tiers")] == [1, 1, 1, 1]
    assert told["tracks"][0]["colour"] == "white"
    assert (told["samples_total"], len(told["samples"])) == (3, 2)


def test_an_answer_travels_under_the_clients_id() -> None:
    request = RequestId("req_1")
    ref = make_frame_ref(GATE, 5)
    gap = CoverageGap(Span(7, 8), GapReason.DAMAGED)
    coverage = Coverage(Span(1, 9), (Span(1, 7),), (Span(2, 3),), (gap,), 1, 0.5)
    started = answer_message(
        AnswerStarted(
            request, GATE, ConversationId("conv_1"), Span(1, 9), "the last 8 µs", "UTC",
            (UsedFrame(ref, 5, "[00:00:00]"),), 4, coverage,
        ),
        "mine",
    )  # fmt: skip
    assert isinstance(started, wire.AnswerStartedMessage)
    assert started.frames[0].url == "/api/v1/cameras/gate/frames/5.jpg"
    assert started.coverage.gaps[0].reason is GapReason.DAMAGED
    delta = answer_message(AnswerDelta(request, "ď🔥"), "mine")
    done = answer_message(
        AnswerDone(
            request, Outcome.OK, (Citation("[00:00:00]", 3, 5, ref, True),), AnswerUsage(7, 2),
            Timings(total_ms=1.23456), 1, 0, "measured",
        ),
        "mine",
    )  # fmt: skip
    assert isinstance(done, wire.AnswerDoneMessage)
    assert done.timings.total_ms == 1.23
    for message in (started, delta, done):
        assert json.loads(wire.to_json(message))["id"] == "mine"
    assert json.loads(wire.to_json(delta))["text"] == "ď🔥"


def test_an_inner_error_says_nothing_of_the_inside() -> None:
    assert "secret path" not in error_message(ServiceError("secret path /x")).message
    told = error_message(WindowUnavailable(GATE), "q1")
    assert (told.code, told.retryable, told.id) == ("window_unavailable", True, "q1")


def test_a_probe_shows_its_picture_as_a_data_url() -> None:
    assert probe_view(ProbeReport(True, jpeg=b"abc")).picture == "data:image/jpeg;base64,YWJj"
    assert probe_view(ProbeReport(False, code="auth_failed")).picture is None
