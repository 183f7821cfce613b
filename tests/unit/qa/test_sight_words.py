"""What livelens itself says where a question is about one camera, and about several."""

from dataclasses import replace

from qa.hear import hear
from qa.looks import Looks, look_at_all
from qa.sight_words import limits_of_sight, measure, unanswerable
from tests.support.qa_stage import GATE, YARD, Stage


async def looks(stage: Stage, *cameras: str) -> Looks:
    question = replace(stage.question("last 60 s"), cameras=cameras)  # type: ignore[arg-type]
    return await look_at_all(await hear(question, stage.parts(), stage.settings), stage.window, profile=None)


async def test_one_camera_s_measured_answer_is_as_it_was_worded() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=3)
    sentences, frames = measure(await looks(stage, GATE), stage.wording)
    assert sentences == ("Something moved at [15:04:27].", "It left.")
    assert [frame.label for frame in frames] == ["[15:04:27]"]


async def test_of_several_cameras_each_is_told_of_by_name_also_the_one_that_saw_nothing() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=3)
    sentences, frames = measure(await looks(stage, GATE, YARD), stage.wording)
    assert sentences[:2] == ("gate: Something moved at [gate 15:04:27].", "It left.")
    assert sentences[2].startswith("yard: No picture is held of")
    assert [frame.label for frame in frames] == ["[gate 15:04:27]"]


async def test_where_nothing_was_seen_each_camera_says_why() -> None:
    stage = await Stage.open(GATE, YARD)
    told = unanswerable(await looks(stage, GATE, YARD))
    assert [sentence.split(":")[0] for sentence in told if sentence[4:6] == ": "] == ["gate", "yard"]


async def test_a_camera_that_a_model_did_not_see_is_told_of() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.frames(count=4)
    told = limits_of_sight(await looks(stage, GATE, YARD), 3)
    assert told[0] == "3 of 4 frames were looked at."
    assert any(text.startswith("yard: No picture is held of") for text in told)
