"""What the model reads."""

from dataclasses import replace

from core.meter import NullMeter
from core.records import (
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    Record,
    SceneChange,
    SceneChangeKind,
    StaticSpan,
)
from core.spans import Span
from featcache.pool import MemoryPool
from featcache.settings import Settings
from featcache.window import StoredFrame
from models.decoder import Reads
from models.prompt import FramePart, TextPart, Turn
from qa.prompt import Setting, build_prompt, fit_history, label_of, used_frames
from tests.support.qa_stage import BERLIN, GATE, LIFE, SECOND_US, local_us
from tests.support.windows import features_of, stored

START_US = local_us("2026-11-30 14:03:05")
SPAN = Span(START_US, START_US + 30 * SECOND_US)


def frames(*seconds: float) -> list[StoredFrame]:
    return [
        stored(round(START_US + at * SECOND_US), jpeg=b"%d" % number, features=features_of(seed=number))
        for number, at in enumerate(seconds)
    ]


def setting(*records: Record, span: Span = SPAN) -> Setting:
    return Setting(span, BERLIN, span.end_us, records)


def shown(*records: Record, at: tuple[float, ...] = (0, 1, 5, 10)) -> list[str]:
    """Return labels and notes in order, without the last line about now."""
    prompt = build_prompt("what?", frames(*at), setting=setting(*records), reads=Reads.JPEG)
    return [part.label if isinstance(part, FramePart) else part.text for part in prompt.parts][:-1]


def test_frames_stand_oldest_first_behind_their_labels_and_the_question_last() -> None:
    history = (Turn("a?", "b."),)
    prompt = build_prompt("what?", frames(0, 1), setting=setting(), reads=Reads.JPEG, history=history)
    assert [frame.label for frame in prompt.frames] == ["[14:03:05]", "[14:03:06]"]
    assert [frame.jpeg for frame in prompt.frames] == [b"0", b"1"]
    assert (prompt.question, prompt.history) == ("what?", history)
    assert prompt.parts[-1] == TextPart("(It is now 14:03:35. The question is about 14:03:05 to 14:03:35.)")


def test_a_model_that_reads_features_gets_no_pictures_and_the_other_way_round() -> None:
    features = build_prompt("?", frames(0), setting=setting(), reads=Reads.FEATURES).frames[0]
    pictures = build_prompt("?", frames(0), setting=setting(), reads=Reads.JPEG).frames[0]
    assert features.features is not None
    assert features.jpeg is None
    assert pictures.features is None
    assert pictures.jpeg is not None


async def test_a_model_that_fetches_frames_by_ref_gets_what_the_index_says_under_the_same_labels() -> None:
    window = MemoryPool(Settings(), meter=NullMeter())
    await window.open_camera(GATE, LIFE)
    whole = frames(0, 1)
    for frame in whole:
        await window.put(frame, incarnation=LIFE)
    by_ref = build_prompt("?", await window.index(GATE, SPAN), setting=setting(), reads=Reads.REFS).frames
    by_value = build_prompt("?", whole, setting=setting(), reads=Reads.FEATURES).frames

    assert [(f.label, f.ref, f.grid) for f in by_ref] == [(f.label, f.ref, f.grid) for f in by_value]
    assert by_ref[0].grid == (1, 4, 4)
    assert by_ref[0].features is None
    assert by_ref[0].jpeg is None


def test_notes_say_whose_they_are_where_labels_do() -> None:
    records = (StaticSpan(START_US, START_US + 4 * SECOND_US),)
    named = replace(setting(*records), camera=GATE)
    prompt = build_prompt("?", frames(0, 10), setting=named, reads=Reads.JPEG)
    texts = [part.label if isinstance(part, FramePart) else part.text for part in prompt.parts]
    assert texts[:3] == ["[gate 14:03:05]", "(gate: unchanged since 14:03:05.)", "[gate 14:03:15]"]


def test_nothing_of_the_question_stands_before_or_between_the_frames() -> None:
    first = build_prompt("what?", frames(0, 1), setting=setting(), reads=Reads.JPEG)
    later = Setting(Span(START_US, START_US + 60 * SECOND_US), BERLIN, START_US + 60 * SECOND_US)
    second = build_prompt(
        "发生了什么？", frames(0, 1, 2), setting=later, reads=Reads.JPEG, history=(Turn("a", "b"),)
    )
    assert first.system == second.system
    assert first.parts[:2] == second.parts[:2]


def test_a_gap_is_noted_where_it_belongs() -> None:
    gap = Gap(START_US + 2 * SECOND_US, START_US + 4 * SECOND_US, GapReason.UNREACHABLE)
    assert shown(gap) == [
        "[14:03:05]",
        "[14:03:06]",
        "(No picture from 14:03:07 to 14:03:09: camera did not answer.)",
        "[14:03:10]",
        "[14:03:15]",
    ]


def test_an_open_gap_is_noted_after_the_last_frame() -> None:
    assert shown(Gap(START_US + 11 * SECOND_US, None, GapReason.STALLED))[-1] == (
        "(No picture since 14:03:16: camera was connected but sent nothing.)"
    )


def test_a_static_span_is_noted_where_it_became_known_and_does_not_move_as_it_grows() -> None:
    short = shown(StaticSpan(START_US + SECOND_US, START_US + 6 * SECOND_US))
    long = shown(StaticSpan(START_US + SECOND_US, START_US + 9 * SECOND_US))
    assert (
        short
        == long
        == [
            "[14:03:05]",
            "[14:03:06]",
            "(Unchanged since 14:03:06.)",
            "[14:03:10]",
            "[14:03:15]",
        ]
    )


def test_a_change_of_the_whole_picture_is_noted_and_other_records_are_not() -> None:
    light = SceneChange(START_US + 3 * SECOND_US, SceneChangeKind.LIGHT_OFF)
    epoch = EpochStart(START_US + 3 * SECOND_US, 2, EpochClock.MEDIA)
    assert shown(light, epoch)[2] == "(Light off at 14:03:08.)"
    assert len(shown(light, epoch)) == 5


def test_labels_carry_tenths_and_date_as_the_frame_and_the_span_ask() -> None:
    across = Span(local_us("2026-11-29 23:59:59"), local_us("2026-11-30 00:00:10"))
    at = local_us("2026-11-30 00:00:01.25")
    assert label_of(at, SPAN, BERLIN, tenths=True) == "[00:00:01.2]"
    assert label_of(at, across, BERLIN, tenths=False) == "[2026-11-30 00:00:01]"


def test_frames_are_shown_in_answers_with_the_labels_the_model_saw() -> None:
    kept = frames(0, 1)
    prompt = build_prompt("?", kept, setting=setting(), reads=Reads.JPEG)
    assert [(used.label, used.ref) for used in used_frames(kept, SPAN, BERLIN)] == [
        (frame.label, frame.ref) for frame in prompt.frames
    ]


def test_history_is_cut_from_its_oldest_end() -> None:
    turns = [Turn(f"q{n}", "a" * 10) for n in range(5)]
    assert fit_history(turns, max_turns=2, max_chars=1000) == tuple(turns[-2:])
    assert fit_history(turns, max_turns=5, max_chars=25) == tuple(turns[-2:])
    assert fit_history(turns, max_turns=5, max_chars=5) == ()
    assert fit_history(turns, max_turns=0, max_chars=1000) == ()
