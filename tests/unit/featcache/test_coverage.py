from hypothesis import given
from hypothesis import strategies as st

from core.ids import Incarnation
from core.records import EpochClock, EpochStart, Gap, GapReason, StaticSpan
from core.spans import Span
from featcache.coverage import CoveredGap, coverage
from featcache.window import Head

ASKED = Span(100, 200)


def head(
    oldest_us: int | None = 0, newest_us: int | None = 195, evicted_before_us: int | None = None
) -> Head:
    return Head(Incarnation("life1"), oldest_us, newest_us, evicted_before_us, 1, 1)


def test_a_camera_that_was_watched_all_the_while_covers_everything() -> None:
    seen = coverage(ASKED, records=(), head=head(), now_us=300)
    assert (seen.asked, seen.covered, seen.gaps, seen.static) == (ASKED, (ASKED,), (), ())


def test_a_gap_is_cut_out_with_its_reason() -> None:
    gap = Gap(120, 150, GapReason.STALLED)
    seen = coverage(ASKED, records=[gap], head=head(), now_us=300)
    assert seen.covered == (Span(100, 120), Span(150, 200))
    assert seen.gaps == (CoveredGap(Span(120, 150), GapReason.STALLED),)


def test_gaps_are_cut_to_the_span_asked_about() -> None:
    gaps = [
        Gap(50, 110, GapReason.STALLED),
        Gap(190, 400, GapReason.ENDED),
        Gap(10, 100, GapReason.DISABLED),
    ]
    seen = coverage(ASKED, records=gaps, head=head(), now_us=500)
    assert seen.covered == (Span(110, 190),)
    assert [gap.span for gap in seen.gaps] == [Span(100, 110), Span(190, 200)]


def test_an_open_gap_reaches_to_now_and_no_further() -> None:
    gap = Gap(150, None, GapReason.UNREACHABLE)
    seen = coverage(ASKED, records=[gap], head=head(), now_us=180)
    assert seen.covered == (Span(100, 150),)
    assert seen.gaps == (CoveredGap(Span(150, 180), GapReason.UNREACHABLE),)


def test_gaps_for_different_reasons_may_overlap_and_are_both_told() -> None:
    gaps = [Gap(140, 160, GapReason.STALLED), Gap(120, 150, GapReason.UNREACHABLE)]
    seen = coverage(ASKED, records=gaps, head=head(), now_us=300)
    assert seen.covered == (Span(100, 120), Span(160, 200))
    assert [gap.reason for gap in seen.gaps] == [GapReason.UNREACHABLE, GapReason.STALLED]


def test_before_the_first_frame_ever_nothing_is_covered() -> None:
    assert coverage(ASKED, records=(), head=head(oldest_us=160), now_us=300).covered == (Span(160, 200),)
    assert coverage(ASKED, records=(), head=head(oldest_us=250), now_us=300).covered == ()


def test_a_camera_that_never_gave_a_frame_covers_nothing_but_tells_why() -> None:
    gap = Gap(90, None, GapReason.AUTH_FAILED)
    seen = coverage(ASKED, records=[gap], head=head(None, None), now_us=300)
    assert (seen.covered, seen.last_frame_age_us) == ((), None)
    assert seen.gaps == (CoveredGap(ASKED, GapReason.AUTH_FAILED),)


def test_what_was_evicted_is_not_covered() -> None:
    seen = coverage(ASKED, records=(), head=head(oldest_us=152, evicted_before_us=151), now_us=300)
    assert seen.covered == (Span(151, 200),)
    assert seen.evicted_before_us == 151


def test_a_window_that_lost_all_its_frames_covers_what_came_after_them() -> None:
    seen = coverage(ASKED, records=(), head=head(None, None, 151), now_us=300)
    assert seen.covered == (Span(151, 200),)


def test_what_lies_ahead_is_neither_covered_nor_a_gap() -> None:
    gap = Gap(190, None, GapReason.STALLED)
    seen = coverage(ASKED, records=[gap], head=head(), now_us=150)
    assert (seen.covered, seen.gaps) == ((Span(100, 150),), ())
    ahead = coverage(ASKED, records=[gap, StaticSpan(90, 160)], head=head(), now_us=100)
    assert (ahead.covered, ahead.gaps, ahead.static) == ((), (), ())


def test_static_spans_are_cut_to_the_span_and_joined_where_they_touch() -> None:
    records = [StaticSpan(50, 120), StaticSpan(120, 130), StaticSpan(180, 400), StaticSpan(140, 140)]
    seen = coverage(ASKED, records=records, head=head(), now_us=300)
    assert seen.static == (Span(100, 130), Span(180, 200))
    assert seen.covered == (ASKED,)


def test_other_records_do_not_matter() -> None:
    epoch = EpochStart(150, 1, EpochClock.MEDIA)
    assert coverage(ASKED, records=[epoch], head=head(), now_us=300).covered == (ASKED,)


def test_the_age_of_the_newest_frame_is_told_and_never_negative() -> None:
    assert coverage(ASKED, records=(), head=head(newest_us=195), now_us=300).last_frame_age_us == 105
    assert coverage(ASKED, records=(), head=head(newest_us=305), now_us=300).last_frame_age_us == 0


spans = st.builds(lambda start, length: (start, start + length), st.integers(0, 90), st.integers(1, 30))
maybe_time = st.one_of(st.none(), st.integers(0, 100))


@given(
    spans, st.lists(st.tuples(spans, st.booleans()), max_size=6), maybe_time, maybe_time, st.integers(0, 120)
)
def test_every_moment_is_judged_as_its_own_rule_says(asked, raw_gaps, oldest, evicted, now) -> None:
    gaps = [Gap(start, None if is_open else end, GapReason.STALLED) for (start, end), is_open in raw_gaps]
    seen = coverage(Span(*asked), records=gaps, head=head(oldest, oldest, evicted), now_us=now)
    begin = evicted if evicted is not None else oldest
    for t in range(*asked):
        away = any(gap.start_us <= t and (gap.end_us is None or t < gap.end_us) for gap in gaps) and t < now
        watched = begin is not None and begin <= t < now and not away
        assert any(t in span for span in seen.covered) == watched
        assert any(t in gap.span for gap in seen.gaps) == away
    assert list(seen.covered) == sorted(seen.covered)
