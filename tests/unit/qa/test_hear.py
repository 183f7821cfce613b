"""Which camera, span and history a question means."""

import pytest

from core.errors import ErrorKind, ServiceError
from core.ids import CameraId, ConversationId
from core.spans import Span
from featcache.errors import UnknownCamera
from qa.answers import Language, LastWindow, Question
from qa.errors import AskedAtInFuture, CameraRequired, EmptyQuestion, QuestionTooLong, SeveralCameras
from qa.hear import Heard, hear
from qa.settings import AskSettings
from store.conversations import StoredTurn
from store.errors import UnknownConversation
from tests.support.qa_stage import GATE, SECOND_US, YARD, Stage

CONVERSATION = ConversationId("conv_1")


async def heard(stage: Stage, question: Question, settings: AskSettings | None = None) -> Heard:
    return await hear(question, stage.parts(), settings or AskSettings())


def turn(*cameras: CameraId, span: Span | None = None, number: int = 1) -> StoredTurn:
    return StoredTurn(
        CONVERSATION, cameras or (GATE,), f"question {number}", f"answer {number}", span, "measured", number
    )


async def test_the_only_camera_there_is_needs_no_name() -> None:
    stage = await Stage.open()
    assert (await heard(stage, stage.question())).camera.id == GATE


@pytest.mark.parametrize("cameras", [(GATE,), (GATE, GATE)])
async def test_a_camera_named_is_the_camera_meant(cameras: tuple[CameraId, ...]) -> None:
    stage = await Stage.open(GATE, YARD)
    assert (await heard(stage, stage.question(cameras=cameras))).camera.id == GATE


async def test_with_several_cameras_and_none_named_one_is_asked_for() -> None:
    stage = await Stage.open(GATE, YARD)
    with pytest.raises(CameraRequired) as refused:
        await heard(stage, stage.question())
    assert (refused.value.code, refused.value.kind) == ("camera_required", ErrorKind.INVALID)


async def test_a_question_may_be_about_several_cameras_in_the_order_named() -> None:
    stage = await Stage.open(GATE, YARD)
    both = await heard(stage, stage.question(cameras=(YARD, GATE, YARD)))
    assert [camera.id for camera in both.cameras] == [YARD, GATE]
    assert both.about(both.cameras[1]).cameras == (both.cameras[1],)


async def test_a_follow_up_is_about_the_cameras_of_the_turn_before() -> None:
    stage = await Stage.open(GATE, YARD)
    await stage.conversations.append(turn(GATE, YARD))
    later = await heard(stage, stage.question("and then?", conversation=CONVERSATION))
    assert [camera.id for camera in later.cameras] == [GATE, YARD]


async def test_too_many_cameras_are_refused() -> None:
    stage = await Stage.open(GATE, YARD)
    with pytest.raises(SeveralCameras) as refused:
        await heard(stage, stage.question(cameras=(GATE, YARD)), AskSettings(max_cameras=1))
    assert (refused.value.code, refused.value.kind) == ("several_cameras", ErrorKind.INVALID)


async def test_an_unknown_camera_is_named() -> None:
    stage = await Stage.open()
    with pytest.raises(UnknownCamera):
        await heard(stage, stage.question(cameras=(CameraId("attic"),)))


async def test_a_follow_up_inherits_camera_span_and_history() -> None:
    stage = await Stage.open(GATE, YARD)
    span = Span(stage.now_us - 100 * SECOND_US, stage.now_us - 50 * SECOND_US)
    stage.conversations.turns = [turn(GATE), turn(YARD, span=span, number=2)]
    found = await heard(stage, stage.question("what colour?", conversation=CONVERSATION))
    assert (found.camera.id, found.span, found.conversation) == (YARD, span, CONVERSATION)
    assert [(said.question, said.answer) for said in found.history] == [
        ("question 1", "answer 1"),
        ("question 2", "answer 2"),
    ]


@pytest.mark.parametrize("text", ["and now?", "现在呢？"])
async def test_a_follow_up_with_a_span_of_its_own_keeps_it(text: str) -> None:
    stage = await Stage.open()
    stage.conversations.turns = [turn(span=Span(1, 2))]
    found = await heard(stage, stage.question(text, conversation=CONVERSATION))
    assert found.span is not None
    assert found.span.end_us == stage.now_us


async def test_a_follow_up_with_an_explicit_window_keeps_it() -> None:
    stage = await Stage.open()
    stage.conversations.turns = [turn(span=Span(1, 2))]
    question = stage.question("and?", window=LastWindow(5 * SECOND_US), conversation=CONVERSATION)
    assert (await heard(stage, question)).span == Span(stage.now_us - 5 * SECOND_US, stage.now_us)


async def test_without_a_span_anywhere_there_is_none() -> None:
    stage = await Stage.open()
    assert (await heard(stage, stage.question("what is there?"))).span is None


async def test_an_unknown_conversation_is_refused() -> None:
    stage = await Stage.open()
    with pytest.raises(UnknownConversation):
        await heard(stage, stage.question(conversation=ConversationId("conv_9")))


async def test_a_question_outside_a_conversation_begins_one() -> None:
    stage = await Stage.open()
    first, second = await heard(stage, stage.question()), await heard(stage, stage.question())
    assert first.conversation != second.conversation


async def test_text_is_cleaned_and_its_language_found() -> None:
    stage = await Stage.open()
    found = await heard(stage, stage.question(" what\x00 happened\n\tjust now? "))
    assert (found.text, found.language) == ("what happened just now?", Language.EN)
    assert (await heard(stage, stage.question("刚才？"))).language is Language.ZH


@pytest.mark.parametrize(
    ("text", "error"), [("", EmptyQuestion), (" \n\x07", EmptyQuestion), ("x" * 4_001, QuestionTooLong)]
)
async def test_what_is_no_question_is_refused(text: str, error: type[ServiceError]) -> None:
    stage = await Stage.open()
    with pytest.raises(error):
        await heard(stage, stage.question(text))


async def test_an_asker_whose_clock_is_far_ahead_is_refused() -> None:
    stage = await Stage.open()
    ahead = stage.question("now", asked_at_us=stage.now_us + 5 * SECOND_US)
    assert (await heard(stage, ahead)).now_us == stage.now_us + 5 * SECOND_US
    with pytest.raises(AskedAtInFuture) as refused:
        await heard(stage, stage.question("now", asked_at_us=stage.now_us + 5 * SECOND_US + 1))
    assert (refused.value.code, refused.value.kind) == ("asked_at_in_future", ErrorKind.INVALID)
