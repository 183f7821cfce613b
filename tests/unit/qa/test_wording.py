"""What livelens itself says."""

import pytest

from core.ids import Incarnation
from core.records import GapReason
from featcache.window import Head
from qa.answers import Coverage, CoverageGap, Language, Outcome
from qa.when_clock import Note, NoteKind
from qa.wording import (
    cut_text,
    degraded_text,
    foreign_text,
    gap_reason,
    gap_text,
    halved_text,
    limit_text,
    no_frames_text,
    note_text,
    outcome_sentences,
    own_world_text,
    thinned_text,
    unseen_texts,
)
from tests.support.qa_stage import BERLIN, NOW, local_us, spanning

NOW_US = local_us(NOW)
ASKED = spanning("14:03:05", "14:03:35")


def said(outcome: Outcome, head: Head, language: Language, gaps: tuple[CoverageGap, ...] = ()) -> str:
    coverage = Coverage(ASKED, (), (), gaps, head.evicted_before_us, None)
    return " ".join(
        outcome_sentences(outcome, coverage, head=head, zone=BERLIN, now_us=NOW_US, language=language)
    )


def head(oldest: str | None, newest: str | None, evicted: str | None = None) -> Head:
    oldest_us, newest_us, evicted_us = (
        None if at is None else local_us(f"2026-11-30 {at}") for at in (oldest, newest, evicted)
    )
    return Head(Incarnation("life1"), oldest_us, newest_us, evicted_us, 1, 1)


GAP = CoverageGap(ASKED, GapReason.STALLED)


@pytest.mark.parametrize(
    ("outcome", "held", "gaps", "english", "chinese"),
    [
        (
            Outcome.FUTURE,
            head("13:00:00", "15:04:29"),
            (),
            "has not begun; it is 15:04:30 now",
            "现在是 15:04:30",
        ),
        (
            Outcome.TOO_OLD,
            head("14:30:00", "15:04:29", "14:30:00"),
            (),
            "reaches back to 14:30:00",
            "最早可查到 14:30:00",
        ),
        (Outcome.TOO_OLD, head(None, None, "14:30:00"), (), "no longer held", "不再保留"),
        (
            Outcome.GAP_ONLY,
            head("13:00:00", "14:03:04"),
            (GAP,),
            "No signal 14:03:05-14:03:35 (camera was connected but sent nothing)",
            "14:03:05-14:03:35 无信号（摄像头已连接但没有画面）",
        ),
        (
            Outcome.EMPTY,
            head("14:10:00", "15:04:29"),
            (),
            "The first picture is of 14:10:00",
            "最早的画面是 14:10:00",
        ),
        (Outcome.EMPTY, head("13:00:00", "14:02:30"), (), "14:02:30, 1 h ago", "14:02:30（1 小时前）"),
        (Outcome.EMPTY, head(None, None), (), "has not delivered a picture yet", "还没有送来画面"),
    ],
)
def test_an_empty_window_is_said_with_what_was_missing_and_what_to_try(
    outcome: Outcome, held: Head, gaps: tuple[CoverageGap, ...], english: str, chinese: str
) -> None:
    in_english, in_chinese = said(outcome, held, Language.EN, gaps), said(outcome, held, Language.ZH, gaps)
    assert english in in_english
    assert chinese in in_chinese
    for text in (in_english, in_chinese):
        assert "14:03:05-14:03:35 Europe/Berlin (UTC+01:00)" in text
        assert "[" not in text  # nothing here may pass for a citation
    assert any(word in in_english for word in ("ask about", "Ask about", "ask again"))
    assert any(word in in_chinese for word in ("请问", "请查看"))


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.SHORTENED, Outcome.CANCELLED])
def test_an_answer_needs_no_such_sentence(outcome: Outcome) -> None:
    assert said(outcome, head("13:00:00", "15:04:29"), Language.EN) == ""


def test_of_many_gaps_the_longest_are_told_in_order() -> None:
    seconds = [10, 2, 30, 4, 20]
    gaps = tuple(
        CoverageGap(spanning(f"14:0{at}:00", f"14:0{at}:{length:02d}"), GapReason.STALLED)
        for at, length in enumerate(seconds)
    )
    held = head("13:00:00", "15:04:29")
    coverage = Coverage(spanning("14:00:00", "14:10:00"), (), (), gaps, None, None)
    told = unseen_texts(coverage, head=held, zone=BERLIN, now_us=NOW_US, language=Language.EN)
    assert [text[10:18] for text in told] == ["14:00:00", "14:02:00", "14:04:00"]


@pytest.mark.parametrize("language", list(Language))
def test_every_reason_has_words(language: Language) -> None:
    words = [gap_reason(reason, language) for reason in GapReason]
    assert len(set(words)) == len(GapReason)
    assert all("_" not in text for text in words)


def test_a_gap_is_worded_like_on_the_page() -> None:
    gap = spanning("14:02:10", "14:02:51")
    reason = GapReason.UNREACHABLE
    assert (
        gap_text(gap, reason, BERLIN, now_us=NOW_US, language=Language.EN)
        == "No signal 14:02:10-14:02:51 (camera did not answer)"
    )
    assert (
        gap_text(gap, reason, BERLIN, now_us=NOW_US, language=Language.ZH)
        == "14:02:10-14:02:51 无信号（摄像头无响应）"
    )


@pytest.mark.parametrize("kind", list(NoteKind))
@pytest.mark.parametrize("language", list(Language))
def test_every_note_names_the_time_and_its_instants_with_offset(kind: NoteKind, language: Language) -> None:
    note = Note(kind, "2:30", (local_us("2026-11-30 14:30:00"),))
    text = note_text(note, BERLIN, language)
    assert "2:30" in text
    assert "2026-11-30 14:30:00 (UTC+01:00)" in text


@pytest.mark.parametrize("language", list(Language))
def test_notices_name_the_model_and_the_numbers(language: Language) -> None:
    for text in (
        degraded_text("m1", language),
        no_frames_text("m1", language),
        cut_text("m1", language),
        halved_text("m1", language),
        own_world_text("m1", language),
        foreign_text("m1", language),
    ):
        assert "m1" in text
    assert all(number in thinned_text(41, 600, language) for number in ("41", "600"))
    assert "256" in limit_text(256, language)
