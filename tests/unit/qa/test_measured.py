"""The measured answer: on evidence made by hand, and on real clips from their pixels on."""

import json
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.records import Colour, Direction, GapReason, Record, SceneChange, SceneChangeKind, Side, StaticSpan
from core.spans import Span
from qa.answers import CoverageGap, Language
from qa.measured import MOST_SENTENCES, word_answer
from tests.support.measured_evidence import KINDS, at, cited, evidence, evidence_of, frames_at, track
from tests.support.replay import CARS, MEDIA, Played, encoded_again, frames_of, play

EN, ZH = Language.EN, Language.ZH
NO_SIGNAL = CoverageGap(Span(at(20), at(31)), GapReason.UNREACHABLE)


def test_one_thing_is_one_sentence_with_its_times_sides_way_length_size_and_colour() -> None:
    seen = evidence([track(10.2, 15.1, size=0.17, colour=Colour.WHITE)], now=3600)
    answer = word_answer(seen, EN)
    assert answer.sentences == (
        (
            "Something white came in from the left at [14:00:10], moved to the right and left on the right at "
            "[14:00:15] (5 s, up to 17% of the picture)."
        ),
    )
    assert [f.t_us for f in answer.frames] == [at(10.5), at(15)]
    assert word_answer(seen, ZH).sentences == (
        "[14:00:10] 有白色物体从左侧进入画面，向右移动，[14:00:15] 从右侧离开（历时 5 秒，最多占画面的 17%）。",
    )


def test_two_things_at_once_are_one_sentence_that_tells_of_both() -> None:
    records = [
        track(10, 15, number=1, entered=Side.TOP, left=Side.BOTTOM, direction=Direction.DOWN),
        track(
            11, 16, number=2, entered=Side.BOTTOM, left=Side.TOP, direction=Direction.UP, colour=Colour.RED
        ),
    ]
    assert word_answer(evidence(records, now=3600), EN).sentences == (
        (
            "Two things moved from [14:00:10] to [14:00:16]: one came in from the top at [14:00:10], moved down and "
            "left at the bottom at [14:00:15]; one red came in from the bottom at [14:00:11], moved up and left at "
            "the top at [14:00:16]."
        ),
    )


def test_many_things_at_once_are_counted_by_their_routes() -> None:
    records = [track(10 + n, 13 + n, number=n) for n in range(9)]
    records.append(track(12, 20, number=9, entered=Side.RIGHT, left=None))
    (sentence,) = word_answer(evidence(records, now=3600), EN).sentences
    assert sentence == (
        "10 things moved from [14:00:10] to [14:00:21]: 9 from the left and out on the right, 1 in from the right."
    )


def test_what_is_there_now_is_still_there() -> None:
    seen = evidence([track(40, 59.5, open_=True)])
    assert word_answer(seen, EN).sentences == (
        (
            "Something came in from the left at [14:00:40], moved to the right and is still there at [14:00:59] "
            "(20 s, up to 10% of the picture)."
        ),
    )
    assert "仍在画面中" in word_answer(seen, ZH).sentences[0]


def test_what_was_there_before_the_span_and_went_on_after_it_is_not_said_to_come_or_go() -> None:
    (sentence,) = word_answer(evidence([track(-20, 90)], now=3600), EN).sentences
    assert sentence.startswith("Something was already there at [14:00:00]")
    assert "was still there at [14:00:59]" in sentence


def test_a_track_that_nobody_closed_is_not_called_present() -> None:
    (first, *_) = word_answer(evidence([track(10, 20, open_=True)]), EN).sentences
    assert "was last seen moving at [14:00:20]" in first


def test_when_nothing_moved_two_times_are_named() -> None:
    assert word_answer(evidence([StaticSpan(at(0), at(59))]), EN).sentences == (
        "Nothing has moved since [14:00:00]; last looked at [14:00:59].",
    )
    assert word_answer(evidence([StaticSpan(at(0), at(59))]), ZH).sentences == (
        "自 [14:00:00] 起没有物体移动；最近一次查看为 [14:00:59]。",
    )
    assert word_answer(evidence([StaticSpan(at(-80), at(59))]), EN).sentences == (
        "Nothing has moved since 13:58:40; last looked at [14:00:59].",
    )
    assert word_answer(evidence(now=3600), EN).sentences == ("Nothing moved from [14:00:00] to [14:00:59].",)


def test_slight_changes_are_not_called_nothing() -> None:
    seen = evidence(frames=frames_at([3, 5, 7], motion=0.01))
    assert word_answer(seen, EN).sentences == (
        "Only slight changes from [14:00:03] to [14:00:07]; nothing that could be followed.",
    )


def test_the_quiet_after_the_last_movement_is_said() -> None:
    sentences = word_answer(evidence([track(10, 15)]), EN).sentences
    assert sentences[1:] == ("Nothing has moved since [14:00:15]; last looked at [14:00:59].",)


def test_lights_covers_and_pushes_are_told_in_their_place() -> None:
    records: list[Record] = [SceneChange(at(5 + n), kind) for n, kind in enumerate(SceneChangeKind)]
    sentences = word_answer(evidence([*records, track(20, 25)], now=3600), EN).sentences
    assert sentences[:5] == (
        "A light went on at [14:00:05].",
        "A light went out at [14:00:06].",
        "The camera was moved at [14:00:07].",
        "The camera was covered at [14:00:08].",
        "The camera was uncovered at [14:00:09].",
    )


def test_a_gap_is_told_between_what_happened_before_and_after() -> None:
    records = [track(10, 15), track(40, 45, number=2)]
    sentences = word_answer(evidence(records, gaps=[NO_SIGNAL], now=3600), EN).sentences
    assert sentences[1] == "No signal 14:00:20-14:00:31 (camera did not answer)."
    assert len(sentences) == 3


def test_without_frames_only_the_gap_is_told() -> None:
    seen = evidence(frames=(), gaps=[NO_SIGNAL])
    assert word_answer(seen, EN).sentences == ("No signal 14:00:20-14:00:31 (camera did not answer).",)
    assert word_answer(seen, ZH).sentences == ("14:00:20-14:00:31 无信号（摄像头无响应）。",)
    assert (
        word_answer(evidence(frames=()), EN)
        .sentences[0]
        .startswith("No picture is held of 14:00:00-14:01:00")
    )


def test_more_than_eight_statements_become_a_count_of_the_earlier_ones() -> None:
    records = [track(4 * n, 4 * n + 2, number=n) for n in range(14)]
    sentences = word_answer(evidence(records, now=3600), EN).sentences
    assert len(sentences) <= MOST_SENTENCES
    assert sentences[0] == "8 more movements between [14:00:00] and [14:00:30]."


def test_two_frames_of_one_second_are_told_apart_by_tenths() -> None:
    seen = evidence([track(10.2, 10.8)], frames=frames_at([10.2, 10.5, 10.8]), now=3600)
    answer = word_answer(seen, EN)
    assert cited(answer, answer.sentences[0]) == [at(10.2), at(10.8)]
    assert "[14:00:10.2]" in answer.sentences[0]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("How many cars passed?", "2 things moved, at most 1 at the same time."),
        ("有几辆车经过？", "共有 2 个物体移动，同时最多 1 个。"),
        ("What colour was it?", "What moved last looks red ([14:00:35])."),
        ("它是什么颜色？", "最近移动的物体看上去是红色（[14:00:35]）。"),
        ("Which way did it go?", "What moved last moved to the right and left on the right ([14:00:35])."),
        ("How long was it there?", "What moved last was there for 5 s ([14:00:30] to [14:00:35])."),
        ("Is anybody there now?", "Nothing that has moved is there now ([14:00:59])."),
        ("现在有人吗？", "现在画面中没有移动过的东西（[14:00:59]）。"),
    ],
)
def test_questions_that_can_be_measured_get_their_answer_first(text: str, first: str) -> None:
    records = [track(10, 15), track(30, 35, number=2, colour=Colour.RED)]
    language = EN if text.isascii() else ZH
    assert word_answer(evidence(records, text=text), language).sentences[0] == first


tracks = st.builds(
    lambda start, length, number, sides, open_, size: track(
        start, start + length, number=number, entered=sides[0], left=sides[1], open_=open_, size=size
    ),
    st.floats(-20, 59),
    st.floats(0.1, 50),
    st.integers(1, 99),
    st.tuples(st.sampled_from([None, *Side]), st.sampled_from([None, *Side])),
    st.booleans(),
    st.floats(0.0001, 1),
)
changes = st.builds(
    lambda t, kind: SceneChange(at(t), kind), st.floats(0, 59), st.sampled_from(SceneChangeKind)
)
times = st.lists(st.integers(0, 599), min_size=1, max_size=40, unique=True).map(
    lambda tenths: [t / 10 for t in sorted(tenths)]
)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(tracks | changes, max_size=20),
    times,
    st.sampled_from(Language),
    st.sampled_from(["", "how many?", "is it still there?", "what colour?", "which way?", "how long?"]),
    st.booleans(),
)
def test_whatever_the_evidence_each_label_is_a_frame_and_no_kind_is_named(
    records: list[Record], when: list[float], language: Language, text: str, live: bool
) -> None:
    seen = evidence(records, frames=frames_at(when), text=text, now=60 if live else 3600)
    answer = word_answer(seen, language)
    assert 1 <= len(answer.sentences) <= MOST_SENTENCES + 1
    assert cited(answer, " ".join(answer.sentences))
    assert {f.t_us for f in answer.frames} >= set(cited(answer, " ".join(answer.sentences)))
    for sentence in answer.sentences:
        assert "\x00" not in sentence
        assert "None" not in sentence
        assert not KINDS.search(sentence), sentence
        assert sentence[-1] in ".。"


# ---------------------------------------------------------------- real clips

OFFSETS = {
    "car-detection-1.mp4": 0.0,
    "car-detection-2.mp4": 9.6,
    "car-detection-3.mp4": 19.2,
    "two-visits.mp4": 0.0,
}
TRUTH = json.loads((MEDIA / "truth.json").read_text())["clips"]


def spans_of(*names: str) -> list[tuple[float, float]]:
    return [(OFFSETS[n] + m["from"], OFFSETS[n] + m["to"]) for n in names for m in TRUTH[n]["moving"]]


@lru_cache(maxsize=16)
def clip(*names: str) -> Played:
    return play(frames_of(names))


def check_statements(
    played: Played, truth: list[tuple[float, float]], *, begin_s: float = 0.0
) -> tuple[str, ...]:
    """Each true span is exactly one sentence with the right times; return the English ones."""
    said: dict[Language, tuple[str, ...]] = {}
    for language in Language:
        answer = word_answer(evidence_of(played), language)
        told = [s for s in answer.sentences if not s.startswith(("Nothing", "自"))]
        assert len(told) == len(truth), answer.sentences
        for sentence, (start, end) in zip(told, truth, strict=True):
            named = [(t - played.samples[0].t_us) / 1e6 + begin_s for t in cited(answer, sentence)]
            assert abs(min(named) - start) <= 0.5, sentence
            assert abs(max(named) - end) <= 1.5, sentence
        said[language] = tuple(told)
    return said[EN]


def test_three_car_spans_are_three_sentences_with_the_right_way() -> None:
    first, second, third = check_statements(clip(*CARS), spans_of(*CARS))
    assert "came in from the bottom" in first
    assert "moved up" in first
    assert second.startswith("Two things moved")
    assert ("moved down" in second, "one red" in second) == (True, True)
    assert "moved down" in third


def test_two_visits_are_two_sentences() -> None:
    check_statements(clip("two-visits.mp4"), spans_of("two-visits.mp4"))


def test_a_looped_clip_gives_the_same_sentences_again() -> None:
    truth = spans_of("two-visits.mp4")
    again = [(start + 41.0, end + 41.0) for start, end in truth]
    check_statements(clip("two-visits.mp4", "two-visits.mp4"), truth + again)


def test_noise_of_another_encoder_at_half_the_size_gives_the_same_sentences() -> None:
    played = play(frames_of([encoded_again(name, scale=0.5, crf=30) for name in CARS]))
    check_statements(played, spans_of(*CARS))


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "crf"), [(1.0, 30), (0.5, 35)])
def test_heavier_compression_gives_the_same_sentences(scale: float, crf: int) -> None:
    cars = play(frames_of([encoded_again(name, scale=scale, crf=crf) for name in CARS]))
    check_statements(cars, spans_of(*CARS))
    visits = play(frames_of([encoded_again("two-visits.mp4", scale=scale, crf=crf)]))
    check_statements(visits, spans_of("two-visits.mp4"))


def test_bottles_are_seven_short_activities() -> None:
    answer = word_answer(evidence_of(clip("bottle-detection.mp4")), EN)
    assert len(answer.sentences) == 7
    for sentence in answer.sentences:
        start, end = min(cited(answer, sentence)), max(cited(answer, sentence))
        assert end - start < 4_000_000, sentence


SETS = [CARS, *((p.name,) for p in sorted(MEDIA.glob("*.mp4")) if p.name not in CARS)]


@pytest.mark.parametrize("names", SETS, ids=lambda names: names[0])
def test_no_sentence_of_any_clip_names_a_kind_of_thing_and_each_answer_names_a_time(
    names: tuple[str, ...],
) -> None:
    for last_s in (None, 2.0):
        for text in ("", "how many people?", "is anybody there?", "what colour is the car?", "有几个人？"):
            seen = evidence_of(clip(*names), last_s=last_s, text=text)
            for language in Language:
                answer = word_answer(seen, language)
                assert cited(answer, " ".join(answer.sentences))
                assert not [s for s in answer.sentences if KINDS.search(s)]


def test_the_frames_show_each_thing_at_its_liveliest_besides_its_coming_and_going() -> None:
    frames = [*frames_at([9, 11]), *frames_at([13], motion=0.3), *frames_at([14.9, 20])]
    answer = word_answer(evidence([track(10.8, 15)], frames=frames, now=3600), EN)
    assert [f.t_us for f in answer.frames] == [at(11), at(13), at(14.9)]
    assert len(cited(answer, answer.sentences[0])) == 2
