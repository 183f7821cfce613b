"""Asking, from the question to the last value of its answer."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from core.ids import ConversationId
from core.meter import Metric
from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from models.decoder import ModelProfile, Reads, Usage
from models.errors import DecoderUnavailable, PromptTooLarge
from qa import Asker, word_answer
from qa.answers import Answer, AnswerDelta, AnswerDone, AnswerStarted, LastWindow, Outcome
from qa.settings import AskSettings
from store import Store
from store.errors import CameraNotRegistered, UnknownConversation
from tests.support.qa_stage import GATE, SECOND_US, YARD, Stage, local_us
from tests.support.scripted_decoder import Asked, Script, ScriptedDecoder
from tests.support.windows import ENCODER

FEATURES = ModelProfile("real", Reads.FEATURES, frame_tokens=4, window_tokens=256, encoder_version=ENCODER)
OWN = replace(FEATURES, name="builtin", own_world=True)
SMALL = ModelProfile("small", Reads.JPEG, frame_tokens=32, window_tokens=320)


# ---------------------------------------------------------------- by the decoder


async def test_a_question_is_answered_by_the_decoder_from_the_newest_frames() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("A car ", "at [15:04:25].")))
    times = await stage.frames(count=15)
    answer = await stage.ask("what is there?")
    assert answer.text == "A car at [15:04:25]."
    assert (answer.done.outcome, answer.done.model, answer.done.notice) == (Outcome.OK, "scripted", None)
    assert [frame.t_us for frame in answer.started.frames] == times  # the newest 8, moved back to number 0
    assert (answer.done.frames_used, answer.started.frames_in_span) == (15, 15)
    assert answer.started.window == Span(answer.started.frames[0].t_us, stage.now_us)
    (citation,) = answer.done.citations
    assert (citation.verified, citation.t_us, citation.offset) == (True, times[10], 9)
    assert stage.meter.counts[Metric.CITATIONS, (("verified", "true"),)] == 1
    assert stage.meter.counts[Metric.QUESTIONS, (("outcome", "ok"),)] == 1


async def test_a_question_that_came_earlier_goes_before_one_like_it_in_the_decoder() -> None:
    decoder = ScriptedDecoder(Script.of("Yes."))
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=15)
    await stage.ask("what is there?")
    stage.clock.advance(SECOND_US)
    await stage.ask("what is there?")
    first, then = (asked.priority for asked in decoder.asked)
    assert first < then < 0


async def test_a_model_that_fetches_frames_by_ref_is_asked_from_the_index_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoder = ScriptedDecoder(profile=replace(FEATURES, reads=Reads.REFS))
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=20, features=True)

    async def fetch(refs: object) -> None:
        raise AssertionError("a frame was fetched")

    monkeypatch.setattr(stage.window, "fetch", fetch)
    answer = await stage.ask("what happened in the last 20 seconds?")
    assert (answer.done.frames_used, answer.done.frames_encoded_now, answer.done.model) == (20, 0, "real")
    assert [frame.grid for frame in decoder.prompts[0].frames] == [(1, 4, 4)] * 20
    assert answer.text


async def test_frames_by_ref_that_the_model_could_not_read_are_not_counted_as_looked_at() -> None:
    stage = await Stage.open()
    await stage.frames(count=20, features=True)

    def refuse_one(asked: Asked) -> Script:
        return Script(usage=Usage(9, 2, refused=(asked.prompt.frames[0].ref,)))

    stage.decoder = ScriptedDecoder(refuse_one, profile=replace(FEATURES, reads=Reads.REFS))
    answer = await stage.ask("what happened in the last 20 seconds?")
    assert (answer.done.frames_used, len(answer.started.frames)) == (19, 20)
    assert answer.done.notice


async def test_several_cameras_are_shown_one_after_the_other_under_labels_that_name_them() -> None:
    decoder = ScriptedDecoder(Script.of("A car at [yard 15:04:29], a cat at [gate 15:04:28]."))
    stage = await Stage.open(GATE, YARD, decoder=decoder)
    await stage.frames(count=4)
    await stage.frames(count=4, camera_id=YARD)
    answer = await stage.ask(stage.question("what happened in the last 20 seconds?", cameras=(GATE, YARD)))

    labels = [frame.label for frame in decoder.prompts[0].frames]
    assert labels == [frame.label for frame in answer.started.frames]
    assert labels[3:5] == ["[gate 15:04:29]", "[yard 15:04:26]"]
    assert [(c.verified, (c.frame or "").split("/")[0]) for c in answer.done.citations] == [
        (True, "yard"),
        (True, "gate"),
    ]
    assert (answer.started.camera_id, [other.camera_id for other in answer.started.others]) == (GATE, [YARD])
    assert answer.started.others[0].frames_in_span == 4
    assert (answer.done.frames_used, answer.started.frames_in_span) == (8, 8)
    assert stage.conversations.turns[0].cameras == (GATE, YARD)


async def test_a_camera_that_saw_nothing_is_named_beside_the_answer_about_the_other() -> None:
    stage = await Stage.open(GATE, YARD, decoder=ScriptedDecoder())
    await stage.frames(count=4)
    answer = await stage.ask(stage.question("last 20 s", cameras=(GATE, YARD)))
    assert answer.done.outcome is Outcome.OK
    assert answer.done.notice is not None
    assert "yard: No picture is held of" in answer.done.notice


async def test_a_model_of_one_world_is_not_shown_several_cameras() -> None:
    decoder = ScriptedDecoder(profile=OWN)
    stage = await Stage.open(GATE, YARD, decoder=decoder)
    await stage.frames(count=4, features=True)
    await stage.frames(count=4, features=True, camera_id=YARD)
    answer = await stage.ask(stage.question("last 20 s", cameras=(GATE, YARD)))
    assert (answer.done.model, decoder.prompts) == ("measured", [])
    assert answer.done.notice == "builtin looks at one camera at a time; this is measured from motion alone."
    assert "gate: Something moved" in answer.text
    assert "yard: Something moved" in answer.text
    assert all(citation.verified for citation in answer.done.citations)


async def test_a_span_brings_exactly_the_frames_in_it_oldest_first() -> None:
    decoder = ScriptedDecoder()
    stage = await Stage.open(decoder=decoder)
    times = await stage.frames(count=60)
    answer = await stage.ask("what happened in the last 20 seconds?")
    assert [frame.t_us for frame in answer.started.frames] == times[-20:]
    assert [frame.ref for frame in decoder.prompts[0].frames] == [
        frame.ref for frame in answer.started.frames
    ]
    assert decoder.prompts[0].frames[0].jpeg == b"jpeg 40"
    assert decoder.prompts[0].question == "what happened in the last 20 seconds?"


async def test_over_budget_frames_are_thinned_both_ends_kept_and_it_is_said() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(profile=SMALL))
    times = await stage.frames(count=300, step_us=100_000)
    answer = await stage.ask("what happened in the last 30 seconds?")
    used = [frame.t_us for frame in answer.started.frames]
    assert (used[0], used[-1]) == (times[0], times[-1])
    assert len(used) == answer.done.frames_used <= 10
    assert answer.started.frames_in_span == 300
    assert answer.done.notice == f"{len(used)} of 300 frames were looked at."


async def test_a_model_that_reads_features_gets_them_and_nothing_is_encoded_now() -> None:
    decoder = ScriptedDecoder(profile=FEATURES)
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=8, features=True)
    answer = await stage.ask()
    assert all(frame.features is not None and frame.jpeg is None for frame in decoder.prompts[0].frames)
    assert (answer.done.frames_used, answer.done.frames_encoded_now) == (8, 0)


async def test_pictures_sent_to_a_model_that_looks_itself_are_counted_as_encoded_now() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    await stage.frames(count=8)
    assert (await stage.ask()).done.frames_encoded_now == 8


async def test_encoder_calls_made_for_this_question_are_counted() -> None:
    stage = await Stage.open()

    def spend(asked: object) -> Script:
        stage.encoded[question.id] = 5
        return Script.of("Yes.")

    stage.decoder = ScriptedDecoder(spend, profile=FEATURES)
    await stage.frames(count=8, features=True)
    question = stage.question()
    stage.encoded[question.id] = 2
    assert (await stage.ask(question)).done.frames_encoded_now == 3


async def test_frames_without_features_of_the_models_encoder_are_left_out() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(profile=FEATURES))
    await stage.frames(count=4, until_us=stage.now_us - 8 * SECOND_US)
    kept = await stage.frames(count=8, features=True)
    answer = await stage.ask("what happened in the last 30 seconds?")
    assert [frame.t_us for frame in answer.started.frames] == kept
    assert answer.started.frames_in_span == 12


async def test_without_any_frame_the_model_can_read_the_answer_is_measured_and_says_so() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(profile=FEATURES))
    await stage.frames(count=4)
    answer = await stage.ask()
    assert answer.done.model == "measured"
    assert (
        answer.done.notice == "No picture of this span is ready for real; this is measured from motion alone."
    )


async def test_a_model_of_one_world_says_in_every_answer_what_it_knows() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("A red circle."), profile=OWN))
    await stage.frames(count=8, features=True)
    english, chinese = await stage.ask("what is there?"), await stage.ask("有什么？")
    assert (english.text, english.done.model, english.done.frames_encoded_now) == (
        "A red circle.",
        "builtin",
        0,
    )
    assert english.done.notice == "builtin knows only the scenes that livelens generates."
    assert chinese.done.notice == "builtin 只认识 livelens 自己生成的画面。"


@pytest.mark.parametrize(
    "text", ["what happened?", "what happened in the last 30 seconds?", "刚刚发生了什么？"]
)
async def test_a_model_of_one_world_is_not_asked_where_any_picture_is_of_another(text: str) -> None:
    decoder = ScriptedDecoder(Script.of("A red circle."), profile=OWN)
    stage = await Stage.open(decoder=decoder)
    foreign = await stage.frames(count=1, until_us=stage.now_us - 15 * SECOND_US)
    own = await stage.frames(count=15, features=True)
    answer = await stage.ask(text)
    assert decoder.asked == []
    assert (answer.done.model, answer.done.outcome) == ("measured", Outcome.OK)
    assert "builtin" in (answer.done.notice or "")
    assert "--model-url" in (answer.done.notice or "")
    ((evidence, _),) = stage.wording.evidence
    assert [frame.t_us for frame in evidence.frames] == [*foreign, *own]


async def test_a_model_of_one_world_that_is_away_is_replaced_by_measurement() -> None:
    decoder = ScriptedDecoder(profile=OWN)
    decoder.set_healthy(False)
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=8, features=True)
    answer = await stage.ask()
    assert answer.done.notice == "builtin did not answer; this is measured from motion alone."


async def test_usage_timings_and_metrics_go_with_the_answer() -> None:
    stage = await Stage.open()

    def slowly(asked: object) -> Script:
        stage.clock.advance(120_000)
        return Script(("Yes.",), usage=Usage(100, 7))

    stage.decoder = ScriptedDecoder(slowly)
    await stage.frames()
    question = stage.question()
    stage.clock.advance(30_000)
    done = (await stage.ask(question)).done
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (100, 7)
    assert (done.timings.wait_ms, done.timings.fetch_ms, done.timings.prefill_ms) == (30.0, 0.0, 120.0)
    assert (done.timings.first_word_ms, done.timings.total_ms) == (150.0, 150.0)
    assert stage.meter.observed[Metric.FIRST_WORD_SECONDS, ()] == [0.15]
    assert stage.meter.observed[Metric.FETCH_SECONDS, ()] == [0.0]


async def test_an_answer_at_its_limit_is_shortened_and_says_so() -> None:
    decoder = ScriptedDecoder(Script.of("one ", "two ", "three"))
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    answer = await stage.ask(stage.question(max_tokens=2))
    assert answer.text == "one two "
    assert (answer.done.outcome, answer.done.notice) == (Outcome.SHORTENED, "Cut at the limit of 2 tokens.")


@pytest.mark.parametrize(("asked", "given"), [(None, 256), (10_000_000, 2_048), (0, 1), (-5, 1), (100, 100)])
async def test_the_limit_of_tokens_is_kept_within_bounds(asked: int | None, given: int) -> None:
    decoder = ScriptedDecoder()
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    await stage.ask(stage.question(max_tokens=asked))
    assert decoder.asked[0].sampling.max_tokens == given


async def test_characters_come_whole_whatever_the_pieces() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("ď", "", "🔥", "好")))
    await stage.frames()
    answer = await stage.ask()
    assert answer.text == answer.done.text == "ď🔥好"
    assert "�" not in answer.text


async def test_what_a_model_could_not_see_of_the_span_is_told() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    now_us = stage.now_us
    await stage.frames(count=60)
    await stage.window.trim(GATE, before_us=now_us - 40 * SECOND_US)
    await stage.record(Gap(now_us - 20 * SECOND_US, now_us - 10 * SECOND_US, GapReason.STALLED))
    notice = (await stage.ask("what happened in the last minute?")).done.notice
    assert notice == (
        "Nothing before 15:03:50 is held. "
        "No signal 15:04:10-15:04:20 (camera was connected but sent nothing)."
    )


# ---------------------------------------------------------------- a decoder that is away, or fails


async def test_without_a_model_the_answer_is_measured_sentence_by_sentence() -> None:
    stage = await Stage.open()
    times = await stage.frames(count=60)
    answer = await stage.ask("anything there?")
    assert [delta.text for delta in answer.deltas] == ["Something moved at [15:04:00].", " It left."]
    assert (answer.done.model, answer.done.notice, answer.done.outcome) == ("measured", None, Outcome.OK)
    assert answer.started.window == Span(stage.now_us - 30 * SECOND_US, stage.now_us)
    assert [frame.t_us for frame in answer.started.frames] == [times[30]]
    assert (answer.done.frames_used, answer.started.frames_in_span) == (1, 30)
    assert answer.done.citations[0].verified
    evidence, _ = stage.wording.evidence[0]
    assert [frame.t_us for frame in evidence.frames] == times[30:]


async def test_chinese_sentences_follow_one_another_without_spaces() -> None:
    stage = await Stage.open()
    await stage.frames()
    answer = await stage.ask("刚刚发生了什么？")
    assert answer.deltas[1].text == "It left."
    assert stage.wording.evidence[0][1] == "zh"


async def test_an_unhealthy_decoder_is_not_asked_and_the_answer_is_marked() -> None:
    decoder = ScriptedDecoder()
    decoder.set_healthy(False)
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    answer = await stage.ask()
    assert decoder.asked == []
    assert answer.done.model == "measured"
    assert answer.done.notice == "scripted did not answer; this is measured from motion alone."


@pytest.mark.parametrize("error", [DecoderUnavailable("gone"), PromptTooLarge(9, 8)])
async def test_a_decoder_that_fails_before_its_first_word_is_replaced_by_measurement(
    error: Exception,
) -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script(error=error)))
    await stage.frames()
    answer = await stage.ask()
    assert (answer.done.model, answer.done.outcome) == ("measured", Outcome.OK)
    assert answer.done.notice == "scripted did not answer; this is measured from motion alone."
    announced = {frame.ref for frame in answer.started.frames}
    assert {citation.frame for citation in answer.done.citations} <= announced
    assert stage.conversations.turns[0].model == "measured"


async def test_a_prompt_that_does_not_fit_is_asked_once_more_with_half_of_the_frames() -> None:
    decoder = ScriptedDecoder(Script(error=PromptTooLarge(9, 8)), Script.of("[15:04:15] and [15:04:17]."))
    stage = await Stage.open(decoder=decoder)
    times = await stage.frames(count=15)
    answer = await stage.ask()
    first, second = decoder.prompts
    assert len(first.frames) == 15
    refs = [frame.ref for frame in answer.started.frames]
    shown = [refs.index(frame.ref) for frame in second.frames]
    assert (shown[0], shown[-1]) == (0, 14)
    assert 2 < len(shown) <= 8
    assert second.question == first.question
    assert (answer.done.model, answer.done.outcome) == ("scripted", Outcome.OK)
    assert answer.done.frames_used == answer.done.frames_encoded_now == len(shown)
    assert answer.done.notice == (
        f"More pictures than these do not fit scripted. {len(shown)} of 15 frames were looked at."
    )
    first_cited, second_cited = answer.done.citations
    assert (first_cited.verified, first_cited.t_us) == (True, times[0])
    assert 2 not in shown
    assert not second_cited.verified  # announced at first, but not looked at


async def test_a_prompt_that_does_not_fit_by_half_either_is_replaced_by_measurement_over_all_frames() -> None:
    decoder = ScriptedDecoder(Script(error=PromptTooLarge(9, 8)))
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    answer = await stage.ask()
    assert len(decoder.asked) == 2
    assert (answer.done.model, decoder.running) == ("measured", 0)
    assert answer.done.notice == "scripted did not answer; this is measured from motion alone."
    assert all(citation.verified for citation in answer.done.citations)


async def test_one_frame_that_does_not_fit_is_not_halved() -> None:
    decoder = ScriptedDecoder(Script(error=PromptTooLarge(9, 8)))
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=1)
    assert (await stage.ask()).done.model == "measured"
    assert len(decoder.asked) == 1


async def test_frames_that_the_decoder_could_not_read_do_not_count_as_used() -> None:
    def leave_out(asked: Asked) -> Script:
        refused = tuple(frame.ref for frame in asked.prompt.frames[:2])
        return Script(("Yes.",), usage=Usage(100, 1, refused=refused))

    stage = await Stage.open(decoder=ScriptedDecoder(leave_out, profile=FEATURES))
    await stage.frames(count=8, features=True)
    answer = await stage.ask()
    assert answer.done.frames_used == 6
    assert answer.done.notice == "6 of 8 frames were looked at."


async def test_a_decoder_that_says_nothing_at_all_is_replaced_by_measurement() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of()))
    await stage.frames()
    assert (await stage.ask()).done.model == "measured"


async def test_a_decoder_that_fails_in_the_middle_keeps_what_it_said() -> None:
    stage = await Stage.open(
        decoder=ScriptedDecoder(Script(("A car ", "came"), DecoderUnavailable("gone"), 1))
    )
    await stage.frames()
    answer = await stage.ask()
    assert answer.text == "A car "
    assert (answer.done.outcome, answer.done.model) == (Outcome.SHORTENED, "scripted")
    assert answer.done.notice == "scripted stopped before the end of its answer."


async def test_a_decoder_that_is_silent_too_long_is_taken_for_away_and_aborted() -> None:
    decoder = ScriptedDecoder(Script(stall_at=0))
    stage = await Stage.open(decoder=decoder)
    stage.settings = AskSettings(first_word_limit_s=0.01)
    await stage.frames()
    answer = await stage.ask()
    assert answer.done.model == "measured"
    assert decoder.running == 0


async def test_a_decoder_may_come_and_go_between_questions() -> None:
    stage = await Stage.open()
    await stage.frames()
    assert (await stage.ask()).done.model == "measured"
    stage.decoder = ScriptedDecoder()
    assert (await stage.ask()).done.model == "scripted"
    stage.decoder = None
    assert (await stage.ask()).done.model == "measured"


# ---------------------------------------------------------------- nothing to look at


async def test_a_camera_without_pictures_says_so() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    answer = await stage.ask("what is there?")
    assert answer.done.outcome is Outcome.EMPTY
    assert answer.text.startswith("No picture is held of 15:04:00-15:04:30 Europe/Berlin (UTC+01:00).")
    assert "has not delivered a picture yet" in answer.text
    assert (answer.started.frames, answer.done.frames_used) == ((), 0)


async def test_the_future_is_not_guessed() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    await stage.frames()
    answer = await stage.ask("what happens tonight?")
    assert answer.done.outcome is Outcome.FUTURE
    assert "has not begun; it is 15:04:30 now." in answer.text
    assert "还没有到" in (await stage.ask("今晚会发生什么？")).text


async def test_what_has_aged_out_is_said_with_how_far_back_one_can_ask() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    await stage.frames(count=60)
    await stage.window.trim(GATE, before_us=stage.now_us - 30 * SECOND_US)
    answer = await stage.ask(
        stage.question(window=Span(stage.now_us - 50 * SECOND_US, stage.now_us - 40 * SECOND_US))
    )
    assert answer.done.outcome is Outcome.TOO_OLD
    assert "The window reaches back to 15:04:00" in answer.text


async def test_a_span_in_which_the_camera_was_away_names_the_gap_and_its_reason() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    now_us = stage.now_us
    await stage.frames(count=20, until_us=now_us - 60 * SECOND_US)
    await stage.record(Gap(now_us - 60 * SECOND_US, None, GapReason.UNREACHABLE))
    answer = await stage.ask("what happened in the last 30 seconds?")
    assert answer.done.outcome is Outcome.GAP_ONLY
    assert "No signal 15:04:00-15:04:30 (camera did not answer)." in answer.text
    assert "The newest picture is of 15:03:29" in answer.text
    assert answer.started.coverage.gaps[0].reason is GapReason.UNREACHABLE
    chinese = await stage.ask("最近30秒发生了什么？")
    assert "15:04:00-15:04:30 无信号（摄像头无响应）。" in chinese.text


async def test_a_still_moment_between_two_frames_is_answered_by_measurement() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    now_us = stage.now_us
    await stage.frames(count=10, step_us=2 * SECOND_US)
    await stage.record(StaticSpan(now_us - 20 * SECOND_US, now_us - 2 * SECOND_US))
    moment = Span(now_us - 5 * SECOND_US, now_us - 4_500_000)
    answer = await stage.ask(stage.question(window=moment))
    assert (answer.done.outcome, answer.done.model) == (Outcome.OK, "measured")
    assert answer.text == "Nothing moved."


# ---------------------------------------------------------------- windows and conversations


async def test_an_explicit_window_beats_the_words() -> None:
    stage = await Stage.open()
    await stage.frames(count=60)
    answer = await stage.ask(stage.question("what happened yesterday?", window=LastWindow(10 * SECOND_US)))
    assert answer.started.window == Span(stage.now_us - 10 * SECOND_US, stage.now_us)
    assert answer.started.window_text == "15:04:20-15:04:30 Europe/Berlin (UTC+01:00)"


async def test_asked_at_fixes_now() -> None:
    stage = await Stage.open()
    await stage.frames(count=60)
    asked_us = stage.now_us - 20 * SECOND_US
    answer = await stage.ask(stage.question("last 5 seconds", asked_at_us=asked_us))
    assert answer.started.window == Span(asked_us - 5 * SECOND_US, asked_us)


async def test_a_follow_up_without_a_span_of_its_own_is_about_the_last_one() -> None:
    decoder = ScriptedDecoder(Script.of("A car."))
    stage = await Stage.open(decoder=decoder)
    await stage.frames(count=60)
    first = await stage.ask("what happened in the last 20 seconds?")
    stage.clock.advance(60 * SECOND_US)
    again = await stage.ask(stage.question("what colour was it?", conversation=first.started.conversation))
    assert again.started.window == first.started.window
    assert again.started.conversation == first.started.conversation
    assert [(turn.question, turn.answer) for turn in decoder.prompts[1].history] == [
        ("what happened in the last 20 seconds?", "A car.")
    ]
    last = await stage.ask(
        stage.question("and in the last 70 seconds?", conversation=first.started.conversation)
    )
    assert last.started.window.duration_us == 70 * SECOND_US


async def test_every_turn_is_recorded_with_camera_span_and_model_before_the_end_is_sent() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("A car.")))
    await stage.frames()
    answer = await stage.ask("what is there?")
    (turn,) = stage.conversations.turns
    assert (turn.question, turn.answer, turn.model) == ("what is there?", "A car.", "scripted")
    assert (turn.cameras, turn.span, turn.conversation) == (
        (GATE,),
        answer.started.window,
        answer.started.conversation,
    )


async def test_an_answer_that_cannot_be_stored_is_given_all_the_same() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("A car.")))
    stage.conversations.fail_with = CameraNotRegistered(GATE)
    await stage.frames()
    assert (await stage.ask()).done.outcome is Outcome.OK


# ---------------------------------------------------------------- what is said of times


async def test_a_time_that_did_not_exist_is_said_first_and_the_offered_one_looked_at() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder(Script.of("A fox.")), now="2025-03-31 12:00:00")
    start_us = local_us("2025-03-30 03:30:00")
    await stage.frames(count=10, until_us=start_us + 20 * SECOND_US)
    answer = await stage.ask("what happened yesterday at 2:30?")
    assert answer.text == (
        "2025-03-30 02:30 does not exist in Europe/Berlin: clocks went forward over it. "
        "This is about 2025-03-30 03:30:00 (UTC+02:00). A fox."
    )
    assert answer.started.window == Span(start_us, start_us + 60 * SECOND_US)
    assert answer.started.window_text == "2025-03-30 03:30:00-03:31:00 Europe/Berlin (UTC+02:00)"


async def test_a_time_that_came_twice_is_covered_both_times_and_said() -> None:
    stage = await Stage.open(now="2025-10-27 12:00:00")
    await stage.frames(count=10, until_us=local_us("2025-10-26 03:00:00"))
    answer = await stage.ask("昨天两点半发生了什么？")
    assert "2025-10-26 02:30:00 (UTC+02:00) 和 2025-10-26 02:30:00 (UTC+01:00)" in answer.text
    assert answer.started.window.duration_us == 3_660 * SECOND_US
    assert "(UTC+02:00) - 2025-10-26 02:31:00 (UTC+01:00)" in answer.started.window_text


async def test_an_assumption_about_a_time_goes_into_the_notice() -> None:
    stage = await Stage.open()
    await stage.frames(count=60, until_us=local_us("2026-11-30 14:31:00"))
    answer = await stage.ask("what happened at 2:30?")
    assert answer.done.notice == "2:30 was taken as 2026-11-30 14:30:00 (UTC+01:00)."


# ---------------------------------------------------------------- leaving early


async def test_closing_an_answer_early_aborts_the_decoder_and_counts_as_cancelled() -> None:
    decoder = ScriptedDecoder(Script.of("A ", "long ", "answer"))
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    async with aclosing(stage.asker().ask(stage.question())) as answer:
        assert isinstance(await anext(answer), AnswerStarted)
        assert isinstance(await anext(answer), AnswerDelta)
    assert (decoder.running, len(decoder.closed_early)) == (0, 1)
    assert stage.meter.counts[Metric.QUESTIONS, (("outcome", "cancelled"),)] == 1
    assert stage.conversations.turns == []


@pytest.mark.parametrize("frames", [0, 10])
async def test_closing_a_measured_or_empty_answer_early_starts_no_clean_up_task(frames: int) -> None:
    stage = await Stage.open()
    await stage.frames(count=frames)
    before = asyncio.all_tasks()
    async with aclosing(stage.asker().ask(stage.question())) as answer:
        await anext(answer)
        await anext(answer)
    assert asyncio.all_tasks() == before
    assert stage.meter.counts[Metric.QUESTIONS, (("outcome", "cancelled"),)] == 1


async def test_frames_that_all_age_out_before_the_fetch_are_not_guessed_at() -> None:
    stage = await Stage.open(decoder=ScriptedDecoder())
    await stage.frames(count=10)
    window = stage.window

    class Vanishing:
        """Forgets all frames at the moment they are fetched."""

        def __getattr__(self, name: str) -> object:
            return getattr(window, name)

        async def fetch(self, refs: object) -> tuple[()]:
            await window.trim(GATE, before_us=stage.now_us)
            return ()

    asker = Asker(replace(stage.parts(), window=Vanishing()))
    async with aclosing(asker.ask(stage.question("last 20 seconds"))) as answer:
        *_, done = [value async for value in answer]
    assert isinstance(done, AnswerDone)
    assert (done.outcome, done.model) == (Outcome.TOO_OLD, "measured")


async def test_a_whole_answer_does_not_count_as_cancelled() -> None:
    stage = await Stage.open()
    await stage.frames()
    await stage.ask()
    assert (Metric.QUESTIONS, (("outcome", "cancelled"),)) not in stage.meter.counts


async def test_a_thousand_cancelled_questions_leave_nothing_behind() -> None:
    all_asked = asyncio.Event()

    def script(asked: object) -> Script:
        if len(decoder.asked) == 1_000:
            all_asked.set()
        return Script(("A ", "car"), stall_at=1)

    decoder = ScriptedDecoder(script)
    stage = await Stage.open(decoder=decoder)
    await stage.frames()
    asker = stage.asker()

    async def read(number: int) -> None:
        async with aclosing(asker.ask(stage.question())) as answer:
            async for value in answer:
                if number % 2 and isinstance(value, AnswerDelta):
                    return

    before = asyncio.all_tasks()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(read(number)) for number in range(1_000)]
        await all_asked.wait()
        for task in tasks:
            task.cancel()
    assert asyncio.all_tasks() == before
    assert decoder.running == 0
    assert stage.meter.counts[Metric.QUESTIONS, (("outcome", "cancelled"),)] == 1_000


async def test_an_unknown_conversation_is_refused_before_the_first_value() -> None:
    stage = await Stage.open()
    with pytest.raises(Exception, match="no conversation"):
        await stage.ask(stage.question(conversation=ConversationId("conv_none")))


async def test_a_conversation_goes_on_in_a_real_store(tmp_path: Path) -> None:
    stage = await Stage.open()
    await stage.frames(count=60)
    async with await Store.open(tmp_path / "a.db") as store:
        await store.cameras.add(stage.cameras.get(GATE))
        asker = Asker(replace(stage.parts(), conversations=store.conversations, word_measured=word_answer))

        async def ask(text: str, conversation: ConversationId | None = None) -> list[Answer]:
            async with aclosing(asker.ask(stage.question(text, conversation=conversation))) as answer:
                return [value async for value in answer]

        started, *_, done = await ask("what happened in the last 20 seconds?")
        assert isinstance(started, AnswerStarted)
        assert isinstance(done, AnswerDone)
        assert done.citations
        assert all(citation.verified for citation in done.citations)
        again, *_ = await ask("并且？", started.conversation)
        assert isinstance(again, AnswerStarted)
        assert again.window == started.window
        with pytest.raises(UnknownConversation):
            await ask("and?", ConversationId("conv_none"))
        turns = await store.conversations.last(started.conversation)
        assert [turn.span for turn in turns] == [started.window, started.window]
