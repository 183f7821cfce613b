from core.frames import KeepReason
from core.ids import Incarnation, make_frame_ref
from core.records import (
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    ObjectTrack,
    SceneChange,
    SceneChangeKind,
    StaticSpan,
)
from core.spans import Span
from featcache.timeline import TierRun, TimelineGap, timeline
from featcache.window import FrameInfo, Head, Tier
from tests.support.windows import GATE

SPAN = Span(100, 200)
HEAD = Head(Incarnation("life1"), 0, 250, 50, 1, 1)


def info(t_us: int, tier: Tier = Tier.MEMORY) -> FrameInfo:
    return FrameInfo(make_frame_ref(GATE, t_us), t_us, 0, KeepReason.MOTION, 0.1, False, 0, 1, tier)


def draw(*records, index=()):
    return timeline(SPAN, index=index, records=records, head=HEAD, now_us=300)


def track(number: int, start_us: int, end_us: int) -> ObjectTrack:
    return ObjectTrack(number, start_us, end_us, False, None, None, None, 0.1, None, ())


def test_an_empty_window_draws_an_empty_line() -> None:
    drawn = draw()
    assert (drawn.span, drawn.now_us, drawn.evicted_before_us) == (SPAN, 300, 50)
    assert (drawn.samples, drawn.static, drawn.gaps, drawn.tracks, drawn.scenes, drawn.tiers) == ((),) * 6


def test_samples_are_those_of_the_index() -> None:
    index = (info(100), info(150))
    assert draw(index=index).samples == index


def test_static_parts_are_cut_to_the_span_and_joined() -> None:
    assert draw(StaticSpan(50, 120), StaticSpan(120, 130), StaticSpan(190, 900)).static == (
        Span(100, 130),
        Span(190, 200),
    )


def test_gaps_are_cut_to_the_span_and_an_open_one_stays_open() -> None:
    drawn = draw(
        Gap(150, None, GapReason.STALLED), Gap(90, 110, GapReason.ENDED), Gap(195, 400, GapReason.DAMAGED)
    )
    assert drawn.gaps == (
        TimelineGap(100, 110, GapReason.ENDED),
        TimelineGap(150, None, GapReason.STALLED),
        TimelineGap(195, 200, GapReason.DAMAGED),
    )


def test_records_outside_the_span_draw_nothing() -> None:
    drawn = draw(StaticSpan(10, 100), Gap(10, 100, GapReason.ENDED), Gap(200, None, GapReason.STALLED))
    assert (drawn.static, drawn.gaps) == ((), ())


def test_things_that_moved_and_scene_changes_come_by_time_and_whole() -> None:
    late, early = track(2, 150, 400), track(1, 50, 120)
    off, on = SceneChange(170, SceneChangeKind.LIGHT_OFF), SceneChange(130, SceneChangeKind.LIGHT_ON)
    drawn = draw(late, off, early, on, EpochStart(100, 1, EpochClock.MEDIA))
    assert drawn.tracks == (early, late)
    assert drawn.scenes == (on, off)


def test_tiers_run_from_their_first_frame_to_the_next_run() -> None:
    index = (info(100, Tier.REDIS), info(110, Tier.REDIS), info(120), info(130), info(140, Tier.REDIS))
    assert draw(index=index).tiers == (
        TierRun(Span(100, 120), Tier.REDIS),
        TierRun(Span(120, 140), Tier.MEMORY),
        TierRun(Span(140, 141), Tier.REDIS),
    )
