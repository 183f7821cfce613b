import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.spans import Span, merge, subtract

spans = st.builds(lambda start, length: Span(start, start + length), st.integers(0, 60), st.integers(1, 20))
many = st.lists(spans, max_size=12)


def moments(*given: Span) -> set[int]:
    return {t for span in given for t in range(span.start_us, span.end_us)}


def test_a_span_includes_its_start_and_not_its_end() -> None:
    span = Span(10, 20)
    assert 10 in span
    assert 19 in span
    assert 20 not in span
    assert 9 not in span
    assert span.duration_us == 10


@pytest.mark.parametrize("end_us", [10, 9])
def test_a_span_is_never_empty(end_us: int) -> None:
    with pytest.raises(ValueError, match="must end after its start"):
        Span(10, end_us)


def test_spans_that_only_touch_share_nothing() -> None:
    assert Span(0, 10).intersect(Span(10, 20)) is None


@given(spans, spans)
def test_an_intersection_is_what_both_share(one: Span, two: Span) -> None:
    shared = one.intersect(two)
    assert (moments(shared) if shared else set()) == moments(one) & moments(two)
    assert shared == two.intersect(one)


@given(many)
def test_merging_keeps_every_moment_in_as_few_spans_as_can_be(given: list[Span]) -> None:
    merged = merge(given)
    assert moments(*merged) == moments(*given)
    assert all(a.end_us < b.start_us for a, b in itertools.pairwise(merged))


@given(many)
def test_merging_twice_changes_nothing(given: list[Span]) -> None:
    assert merge(merge(given)) == merge(given)


@given(spans, many)
def test_subtracting_leaves_exactly_what_no_hole_covers(whole: Span, holes: list[Span]) -> None:
    left = subtract(whole, holes)
    assert moments(*left) == moments(whole) - moments(*holes)
    assert all(a.end_us < b.start_us for a, b in itertools.pairwise(left))


@given(spans, many)
def test_what_is_left_and_what_was_cut_make_the_whole(whole: Span, holes: list[Span]) -> None:
    cut = [part for hole in holes if (part := whole.intersect(hole))]
    assert merge([*subtract(whole, holes), *cut]) == (whole,)
