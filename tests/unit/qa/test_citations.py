"""Times named in an answer, found and checked as the answer comes."""

from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from core.ids import CameraId, make_frame_ref
from qa.answers import Citation, UsedFrame
from qa.citations import CitationChecker
from qa.labels import time_label
from tests.support.qa_stage import GATE, YARD

BERLIN = ZoneInfo("Europe/Berlin")
T_US = 1_796_043_785_000_000  # 2026-11-30 14:03:05 in Berlin


def frame(t_us: int, *, tenths: bool = False) -> UsedFrame:
    return UsedFrame(make_frame_ref(CameraId("gate"), t_us), t_us, time_label(t_us, BERLIN, tenths=tenths))


FRAMES = (
    frame(T_US + 50_000),
    frame(T_US + 250_000, tenths=True),
    frame(T_US + 5_000_000),
    frame(T_US + 86_400_000_000),
)


def check(*deltas: str) -> tuple[Citation, ...]:
    checker = CitationChecker(FRAMES, BERLIN)
    for delta in deltas:
        checker.feed(delta)
    return checker.citations


def test_a_label_is_checked_against_the_frames_looked_at() -> None:
    (found,) = check("A car at [14:03:10].")
    assert found == Citation("[14:03:10]", 9, FRAMES[2].t_us, FRAMES[2].ref, True)


def test_the_first_frame_that_matches_wins() -> None:
    (found,) = check("[14:03:05]")
    assert found.frame == FRAMES[0].ref


def test_tenths_and_dates_are_matched_where_they_are_written() -> None:
    tenth, today, next_day, other_day = check(
        "[14:03:05.2] [2026-11-30 14:03:05] [2026-12-01 14:03:05] [2026-12-02 14:03:05]"
    )
    assert tenth.frame == FRAMES[1].ref
    assert today.frame == FRAMES[0].ref
    assert next_day.frame == FRAMES[3].ref
    assert not other_day.verified


def test_a_time_that_no_frame_has_is_marked() -> None:
    (found,) = check("At [14:09:00] nothing.")
    assert (found.verified, found.frame, found.t_us, found.offset) == (False, None, None, 3)


def test_a_label_in_pieces_is_found_once_at_its_place() -> None:
    checker = CitationChecker(FRAMES, BERLIN)
    assert checker.feed("A car [14:") == ()
    assert checker.feed("03:1") == ()
    (found,) = checker.feed("0] left")
    assert (found.text, found.offset, found.verified) == ("[14:03:10]", 6, True)
    assert checker.feed(".") == ()


def test_offsets_count_characters_of_the_text_so_far() -> None:
    first, second = check("车在[14:03:05]到，", "🚗 [14:03", ":10]离开")
    text = "车在[14:03:05]到，🚗 [14:03:10]离开"
    assert (first.offset, second.offset) == (text.index("["), text.rindex("["))


def test_other_brackets_are_no_citations() -> None:
    assert check("[gate] [[ [1] [14:03] [note: 14:03:05] [") == ()


def test_an_opened_bracket_that_never_closes_is_let_go() -> None:
    checker = CitationChecker(FRAMES, BERLIN)
    checker.feed("[" + "x" * 1000)
    (found,) = checker.feed("[14:03:10]")
    assert found.offset == 1001


@given(cuts=st.lists(st.integers(0, 60), max_size=12))
def test_citations_do_not_depend_on_how_the_text_is_cut(cuts: list[int]) -> None:
    text = "[14:03:05] a [[14:03:10] [14:03:05.2] b [14:09:00][14:03:05"
    at = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    assert check(*(text[a:b] for a, b in pairwise(at))) == check(text)


def test_a_label_with_a_camera_names_that_camera_s_frame_in_its_own_zone() -> None:
    t_us = T_US
    frames = [
        UsedFrame(make_frame_ref(camera, t_us), t_us, label)
        for camera, label in ((GATE, "[gate 14:03:05]"), (YARD, "[yard 13:03:05]"))
    ]
    checker = CitationChecker(frames, BERLIN, {YARD: ZoneInfo("Europe/London")})
    text = "At [gate 14:03:05], [yard 13:03:05], [yard 14:03:05], [attic 14:03:05], [14:03:05] and [gate 2026-11-30 14:03:05]."
    found = [citation for piece in (text[:8], text[8:50], text[50:]) for citation in checker.feed(piece)]

    assert [(c.text, c.frame.split("/")[0] if c.frame else None) for c in found] == [
        ("[gate 14:03:05]", "gate"),
        ("[yard 13:03:05]", "yard"),
        ("[yard 14:03:05]", None),
        ("[attic 14:03:05]", None),
        ("[14:03:05]", "gate"),
        ("[gate 2026-11-30 14:03:05]", "gate"),
    ]
