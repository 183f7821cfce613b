"""Several cameras of one question, seen as one."""

import pytest

from core.spans import Span
from models.decoder import ModelProfile, Reads
from qa.answers import Language, Outcome
from qa.hear import hear
from qa.looks import Looks, camera_of, look_at_all, said_of
from tests.support.qa_stage import GATE, SECOND_US, YARD, Stage

EYES = ModelProfile("eyes", Reads.JPEG, frame_tokens=32, window_tokens=640)


async def looks(stage: Stage, text: str = "last 60 s", profile: ModelProfile | None = EYES) -> Looks:
    heard = await hear(stage.question(text, cameras=(GATE, YARD)), stage.parts(), stage.settings)
    return await look_at_all(heard, stage.window, profile=profile)


async def test_cameras_share_the_budget_and_come_one_after_the_other() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=40)
    await stage.frames(count=40, camera_id=YARD)
    found = await looks(stage)

    each = [len(sight.seen.chosen) for sight in found.sights]
    assert all(3 <= count <= 10 for count in each)
    assert [camera_of(frame.ref) for frame in found.chosen] == [GATE] * each[0] + [YARD] * each[1]
    assert found.frames_in_span == 80
    assert [other.camera_id for other in found.others] == [YARD]
    assert [found.name_of(sight) for sight in found.sights] == [GATE, YARD]


async def test_what_one_camera_saw_is_answered_from_though_another_saw_nothing() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=5, camera_id=YARD)
    found = await looks(stage)

    assert found.outcome is Outcome.OK
    assert [sight.heard.camera.id for sight in found.answerable] == [YARD]
    assert {camera_of(frame.ref) for frame in found.chosen} == {YARD}


async def test_where_no_camera_saw_anything_it_is_the_first_that_says_why() -> None:
    found = await looks(await Stage.open(GATE, YARD))
    assert (found.outcome, found.answerable, found.chosen) == (Outcome.EMPTY, (), ())


async def test_without_a_span_the_time_is_that_of_all_cameras_newest_frames() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=20)
    slow = await stage.frames(count=10, step_us=3 * SECOND_US, camera_id=YARD)
    found = await looks(stage, "what is there?")

    assert found.span == Span(min(frame.t_us for frame in found.chosen), stage.now_us)
    assert found.span.start_us in slow


async def test_one_camera_is_not_named() -> None:
    stage = await Stage.open()
    heard = await hear(stage.question(), stage.parts(), stage.settings)
    found = await look_at_all(heard, stage.window, profile=EYES)
    assert (found.several, found.name_of(found.sights[0]), found.others) == (False, None, ())


@pytest.mark.parametrize(("language", "colon"), [(Language.EN, ": "), (Language.ZH, "：")])
def test_the_first_sentence_and_every_label_say_whose_they_are(language: Language, colon: str) -> None:
    sentences = ("It came [14:03:05].", "It left [2026-11-30 14:03:41.5] [sic].")
    assert said_of(GATE, sentences, language) == (
        f"gate{colon}It came [gate 14:03:05].",
        "It left [gate 2026-11-30 14:03:41.5] [sic].",
    )
    assert said_of(None, sentences, language) == sentences
    assert said_of(GATE, (), language) == ()
