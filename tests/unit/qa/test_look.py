"""What the window holds for a question."""

from dataclasses import replace
from typing import Any

from core.records import Gap, GapReason, StaticSpan
from core.spans import Span
from models.decoder import ModelProfile, Reads
from qa.answers import CoverageGap, Outcome
from qa.hear import hear
from qa.look import Look, fetch, look
from tests.support.qa_stage import GATE, SECOND_US, Stage
from tests.support.windows import ENCODER

PICTURES = ModelProfile("eyes", Reads.JPEG, frame_tokens=32, window_tokens=2_048)
FEATURES = ModelProfile("real", Reads.FEATURES, frame_tokens=4, window_tokens=40, encoder_version=ENCODER)
OTHER = ModelProfile("other", Reads.FEATURES, frame_tokens=4, window_tokens=40, encoder_version="f" * 12)
BY_REF = replace(FEATURES, reads=Reads.REFS)
OWN = replace(FEATURES, own_world=True)


class NothingFetched:
    """Passes for a window; whoever reads a frame of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was called")


async def looked(stage: Stage, text: str, profile: ModelProfile | None) -> Look:
    heard = await hear(stage.question(text), stage.parts(), stage.settings)
    return await look(heard, stage.window, profile=profile)


async def test_a_model_without_a_span_gets_the_newest_frames_and_the_span_they_fill() -> None:
    stage = await Stage.open()
    times = await stage.frames(count=100)
    found = await looked(stage, "what is there?", PICTURES)
    assert [frame.t_us for frame in found.chosen] == times[88:]
    assert found.span == Span(times[88], stage.now_us)
    assert found.frames == found.chosen


async def test_the_measured_answer_without_a_span_is_about_half_a_minute() -> None:
    stage = await Stage.open()
    times = await stage.frames(count=100)
    found = await looked(stage, "what is there?", None)
    assert [frame.t_us for frame in found.chosen] == times[70:]


async def test_a_span_is_thinned_to_the_models_budget() -> None:
    stage = await Stage.open()
    await stage.frames(count=100, features=True)
    found = await looked(stage, "last 60 s", FEATURES)
    assert len(found.frames) == 60
    assert 3 <= len(found.chosen) <= 10


async def test_frames_of_another_encoder_are_held_but_not_chosen() -> None:
    stage = await Stage.open()
    await stage.frames(count=8, features=True)
    found = await looked(stage, "last 30 s", OTHER)
    assert (len(found.frames), found.chosen, found.outcome) == (8, (), Outcome.OK)


async def test_frames_by_ref_are_those_of_the_model_s_own_encoder_and_nothing_is_fetched() -> None:
    stage = await Stage.open()
    await stage.frames(count=4, until_us=stage.now_us - 4 * SECOND_US)
    times = await stage.frames(count=4, features=True)
    found = await looked(stage, "last 30 s", BY_REF)
    assert [frame.t_us for frame in found.chosen] == times
    assert await fetch(found.chosen, NothingFetched(), profile=BY_REF) == found.chosen


async def test_to_a_model_of_one_world_any_frame_without_its_features_is_foreign() -> None:
    stage = await Stage.open()
    await stage.frames(count=1, until_us=stage.now_us - 20 * SECOND_US)
    await stage.frames(count=20, features=True)
    assert (await looked(stage, "last 30 s", OWN)).foreign
    assert not (await looked(stage, "last 15 s", OWN)).foreign
    assert not (await looked(stage, "last 30 s", FEATURES)).foreign
    assert not (await looked(stage, "last 30 s", None)).foreign


async def test_without_a_span_a_model_of_one_world_must_know_all_of_the_last_half_minute() -> None:
    stage = await Stage.open()
    await stage.frames(count=1, until_us=stage.now_us - 20 * SECOND_US)
    await stage.frames(count=20, features=True)
    found = await looked(stage, "what is there?", OWN)
    assert len(found.chosen) < 20  # none of them foreign
    assert found.foreign


async def test_what_was_foreign_long_ago_does_not_matter() -> None:
    stage = await Stage.open()
    await stage.frames(count=4, until_us=stage.now_us - 40 * SECOND_US)
    await stage.frames(count=30, features=True)
    assert not (await looked(stage, "what is there?", OWN)).foreign


async def test_an_empty_span_is_not_foreign() -> None:
    stage = await Stage.open()
    found = await looked(stage, "what is there?", OWN)
    assert (found.outcome, found.foreign) == (Outcome.EMPTY, False)


async def test_coverage_gaps_and_static_spans_come_from_the_records() -> None:
    stage = await Stage.open()
    now_us = stage.now_us
    await stage.frames(count=60)
    gap = Gap(now_us - 20 * SECOND_US, now_us - 10 * SECOND_US, GapReason.STALLED)
    static = StaticSpan(now_us - 8 * SECOND_US, now_us - 2 * SECOND_US)
    await stage.record(gap)
    await stage.record(static)
    seen = (await looked(stage, "last 30 s", PICTURES)).coverage
    away = Span(now_us - 20 * SECOND_US, now_us - 10 * SECOND_US)
    assert seen.asked == Span(now_us - 30 * SECOND_US, now_us)
    assert seen.gaps == (CoverageGap(away, GapReason.STALLED),)
    assert seen.static == (Span(now_us - 8 * SECOND_US, now_us - 2 * SECOND_US),)
    assert seen.covered == (Span(now_us - 30 * SECOND_US, away.start_us), Span(away.end_us, now_us))
    assert (seen.last_frame_age_s, seen.evicted_before_us) == (1.0, None)


async def test_frames_that_age_out_between_choice_and_fetch_are_left_out() -> None:
    stage = await Stage.open()
    times = await stage.frames(count=10)
    found = await looked(stage, "last 30 s", PICTURES)
    await stage.window.trim(GATE, before_us=times[4])
    assert [frame.t_us for frame in await fetch(found.chosen, stage.window, profile=PICTURES)] == times[4:]


async def test_only_frames_that_hold_what_the_model_reads_are_fetched() -> None:
    stage = await Stage.open()
    await stage.frames(count=4)
    found = await looked(stage, "last 30 s", PICTURES)
    assert len(await fetch(found.chosen, stage.window, profile=PICTURES)) == 4
    assert await fetch(found.chosen, stage.window, profile=FEATURES) == ()


async def test_a_camera_registered_a_moment_ago_is_empty_and_not_unknown() -> None:
    stage = await Stage.open()
    await stage.window.delete_camera(GATE)
    found = await looked(stage, "what is there?", PICTURES)
    assert (found.outcome, found.frames, found.coverage.covered) == (Outcome.EMPTY, (), ())
