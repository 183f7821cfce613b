import pytest

from core.errors import ServiceError
from core.ids import FrameRef, split_frame_ref
from models.chat import SYSTEM_TEXT, Cells, ChatTokens, render
from models.decoder import ModelProfile, Reads
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart, Turn
from qa.answers import Language
from qa.chat_prompt import camera_question, check_messages, dialogue_of, label_notice, picture_ref
from qa.chat_settings import ChatSettings
from qa.chat_values import SentMessage, SentPicture
from qa.errors import DialogueTooLong, InvalidDialogue, PictureRequired, PictureTooLarge, TooManyPictures

PROFILE = ModelProfile("tiny", Reads.FEATURES, 24, 500, "0123456789ab")


class Letters:
    """A text encoder with a token for each character."""

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


def said(role: str, *parts: str | bytes) -> SentMessage:
    """Return a message; bytes are pictures."""
    return SentMessage(
        Role(role), tuple(TextPart(p) if isinstance(p, str) else SentPicture(p) for p in parts)
    )


def made(*names: str) -> tuple[PicturePart, ...]:
    return tuple(PicturePart(FrameRef(name), jpeg=name.encode()) for name in names)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], InvalidDialogue),
        ([said("system", "s")], InvalidDialogue),
        ([said("user", "q"), said("assistant", "a")], InvalidDialogue),
        ([said("user", " \n")], InvalidDialogue),
        ([said("user")], InvalidDialogue),
        ([said("assistant", b"1"), said("user", "q")], InvalidDialogue),
        ([said("system", b"1"), said("user", "q")], InvalidDialogue),
        ([said("user", "a" * 6), said("user", "b" * 5)], DialogueTooLong),
        ([said("user", b"1", b"2"), said("user", b"3", "q")], TooManyPictures),
        ([said("user", b"1234", "q")], PictureTooLarge),
    ],
)
def test_messages_that_make_no_dialogue_or_are_too_much_are_refused(
    messages: list[SentMessage], error: type[ServiceError]
) -> None:
    with pytest.raises(error):
        check_messages(messages, ChatSettings(pictures=2, picture_bytes=3, max_text_chars=10))


def test_pictures_alone_words_alone_and_both_are_a_dialogue() -> None:
    for messages in (
        [said("user", b"1")],
        [said("user", "q")],
        [said("system", "s"), said("user", b"1", "q")],
    ):
        check_messages(messages, ChatSettings(pictures=1, max_text_chars=2))


# ---------------------------------------------------------------- names


def test_a_picture_is_named_by_its_content_and_who_reads_it_how() -> None:
    digest = "ab" * 32
    parts = split_frame_ref(picture_ref(digest, PROFILE))
    assert (parts.camera_id, parts.encoder, parts.detail) == (f"picture-{digest[:48]}", "0123456789ab", "24")
    other = ModelProfile("far", Reads.JPEG, 24, 500)
    assert picture_ref(digest, other) != picture_ref(digest, PROFILE) != picture_ref("cd" * 32, PROFILE)


# ---------------------------------------------------------------- what is read


def test_a_dialogue_keeps_its_messages_and_the_order_in_them() -> None:
    messages = [
        said("system", "s"),
        said("user", "a", b"1", "b", b"2"),
        said("assistant", "c"),
        said("user", b"3"),
    ]
    one, two, three = made("one", "two", "three")

    assert dialogue_of(messages, (one, two, three)) == Dialogue(
        (
            Message(Role.SYSTEM, (TextPart("s"),)),
            Message(Role.USER, (TextPart("a"), one, TextPart("b"), two)),
            Message(Role.ASSISTANT, (TextPart("c"),)),
            Message(Role.USER, (three,)),
        )
    )


def test_for_a_model_of_one_world_pictures_become_frames_and_the_last_words_the_question() -> None:
    messages = [
        said("system", "be a pirate"),
        said("user", b"1", "How  many?"),
        said("assistant", "Two."),
        said("user", b"2", "And\nhere?"),
    ]
    pictures = made("one", "two")
    asked = camera_question(messages, pictures, model="builtin")

    parts = (
        FramePart("[12:00:00]", FrameRef("one")),
        FramePart("[12:00:01]", FrameRef("two")),
        TextPart("(It is now 12:00:02. The question is about 12:00:00 to 12:00:02.)"),
    )
    learnt = Prompt(SYSTEM_TEXT, parts, "And here?", (Turn("How many?", "Two."),))
    cells = [Cells(1, 2), Cells(2, 2)]
    row, wanted = (
        render(prompt, cells, text=Letters(), tokens=ChatTokens(-1, -2, -3, -4, -5))
        for prompt in (asked, learnt)
    )
    assert row.ids.tolist() == wanted.ids.tolist()
    assert row.positions.tolist() == wanted.positions.tolist()
    assert asked.frames == pictures


def test_what_the_user_said_in_several_messages_is_one_question() -> None:
    messages = [said("user", b"1", "Look."), said("system", "s"), said("user", "What is it?")]
    asked = camera_question(messages, made("one"), model="builtin")
    assert asked.messages[-1].parts[-1] == TextPart("Look. What is it?")


def test_a_model_of_one_world_needs_a_picture_and_words() -> None:
    with pytest.raises(PictureRequired, match="builtin"):
        camera_question([said("user", "hello")], (), model="builtin")
    for nothing in (said("user", b"1"), said("user", b"1", "..?")):
        with pytest.raises(InvalidDialogue, match="no words"):
            camera_question([nothing], made("one"), model="builtin")


def test_times_in_an_answer_about_pictures_are_explained() -> None:
    assert label_notice("Two.", Language.EN) is None
    assert "the first" in (label_notice("At [12:00:01].", Language.EN) or "")
    assert "第一张" in (label_notice("在 [12:00:00]。", Language.ZH) or "")
