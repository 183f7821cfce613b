from hypothesis import given
from hypothesis import strategies as st

from core.ids import make_frame_ref
from core.records import Gap, GapReason, ObjectTrack, Record, SceneChange, SceneChangeKind, StaticSpan
from core.spans import Span
from featcache.shelf import Shelf, reaches
from featcache.window import StoredFrame
from tests.support.windows import FIRST_LIFE, GATE, features_of, stored

EVER = Span(0, 1 << 60)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 40), st.integers(0, 300)),
        st.tuples(st.just("evict_before"), st.integers(0, 40), st.just(0)),
        st.tuples(st.just("evict_oldest"), st.just(0), st.just(0)),
    ),
    max_size=60,
)


@given(steps)
def test_whatever_is_put_and_evicted_the_shelf_agrees_with_a_plain_dictionary(steps) -> None:
    shelf, model = Shelf(FIRST_LIFE), dict[int, StoredFrame]()
    mark: int | None = None
    for what, t_us, size in steps:
        if what == "put":
            frame = stored(t_us, jpeg=b"x" * size)
            assert shelf.put(frame) == (mark is None or t_us >= mark)
            if mark is None or t_us >= mark:
                model[t_us] = frame
            continue
        gone = sorted(t for t in model if t < t_us) if what == "evict_before" else sorted(model)[:1]
        if what == "evict_before":
            assert shelf.evict_before(t_us) == len(gone)
        elif gone:
            assert shelf.evict_oldest() == model[gone[0]].size_bytes
        for t in gone:
            del model[t]
        mark = gone[-1] + 1 if gone else mark
    assert [info.t_us for info in shelf.index(EVER)] == sorted(model)
    assert shelf.size_bytes == sum(frame.size_bytes for frame in model.values())
    head = shelf.head()
    assert (head.oldest_us, head.newest_us) == (min(model, default=None), max(model, default=None))
    assert (head.frames, head.evicted_before_us) == (len(model), mark)
    assert all(shelf.get(t) == frame for t, frame in model.items())


@given(st.sets(st.integers(0, 100)), st.integers(0, 100), st.integers(1, 50), st.integers(0, 10))
def test_index_and_newest_agree_with_a_filter(times: set[int], start: int, length: int, count: int) -> None:
    shelf = Shelf(FIRST_LIFE)
    for t_us in times:
        shelf.put(stored(t_us))
    span = Span(start, start + length)
    assert [info.t_us for info in shelf.index(span)] == sorted(t for t in times if t in span)
    before = sorted(t for t in times if t < start)
    assert [info.t_us for info in shelf.newest(before_us=start, count=count)] == before[
        max(0, len(before) - count) :
    ]


def test_a_frame_is_found_by_its_own_ref_only() -> None:
    shelf = Shelf(FIRST_LIFE)
    frame = stored(10, features=features_of())
    shelf.put(frame)
    assert shelf.find(frame.ref, 10) is frame
    assert shelf.find(make_frame_ref(GATE, 10), 10) is None
    assert shelf.find(make_frame_ref(GATE, 11), 11) is None


def test_the_greatest_number_counts_also_when_frames_come_out_of_order() -> None:
    shelf = Shelf(FIRST_LIFE)
    shelf.put(stored(20, seq=5))
    shelf.put(stored(10, seq=4))
    assert shelf.head().next_seq == 6


def record(start: int, length: int | None) -> Record:
    return (
        Gap(start, None, GapReason.STALLED)
        if length is None
        else SceneChange(start, SceneChangeKind.LIGHT_ON)
        if length == 0
        else StaticSpan(start, start + length)
    )


records = st.lists(
    st.builds(record, st.integers(0, 60), st.one_of(st.none(), st.integers(0, 20))), max_size=40
)


@given(records, st.integers(0, 80), st.integers(1, 30))
def test_the_records_of_a_span_are_those_that_share_a_moment_with_it(
    records: list[Record], start: int, length: int
) -> None:
    shelf = Shelf(FIRST_LIFE)
    for one in records:
        shelf.put_record(one)
    newest = {one.key: one for one in records}
    span = Span(start, start + length)
    expected = {
        one
        for one in newest.values()
        if any(
            t == one.start_us or (t > one.start_us and (one.end_us is None or t < one.end_us))
            for t in range(span.start_us, span.end_us)
        )
    }
    found = shelf.records(span)
    assert set(found) == expected
    assert [one.start_us for one in found] == sorted(one.start_us for one in found)


@given(records, st.integers(0, 80))
def test_only_records_that_say_nothing_of_later_times_are_dropped(records: list[Record], before: int) -> None:
    shelf = Shelf(FIRST_LIFE)
    for one in records:
        shelf.put_record(one)
    count = shelf.record_count
    later = shelf.records(Span(before, before + 1000))
    gone = shelf.drop_records_before(before)
    assert shelf.records(EVER) == later
    assert shelf.record_count == count - gone == len(later)


@given(records, st.integers(1, 20))
def test_the_oldest_closed_records_go_and_open_gaps_never(records: list[Record], keep: int) -> None:
    shelf = Shelf(FIRST_LIFE)
    for one in records:
        shelf.put_record(one)
    before = shelf.records(EVER)
    open_gaps = [one for one in before if one.end_us is None]
    closed = [one for one in before if one.end_us is not None]
    gone = shelf.drop_oldest_records(keep)
    after = shelf.records(EVER)
    assert [one for one in after if one.end_us is None] == open_gaps
    assert [one for one in after if one.end_us is not None] == closed[gone:]
    assert len(after) == max(min(keep, len(before)), len(open_gaps))


def test_a_growing_track_takes_its_own_place() -> None:
    shelf = Shelf(FIRST_LIFE)
    for end_us in (20, 30, 40):
        shelf.put_record(ObjectTrack(1, 10, end_us, True, None, None, None, 0.1, None, ()))
    (track,) = shelf.records(Span(35, 36))
    assert track.end_us == 40
    assert shelf.record_count == 1


def test_a_record_reaches_past_a_time_or_has_its_moment_there() -> None:
    assert reaches(StaticSpan(1, 10), 9)
    assert not reaches(StaticSpan(1, 10), 10)
    assert reaches(SceneChange(10, SceneChangeKind.LIGHT_ON), 10)
    assert not reaches(SceneChange(9, SceneChangeKind.LIGHT_ON), 10)
    assert reaches(Gap(1, None, GapReason.STALLED), 10)
