from core.ids import CameraId, make_frame_ref
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart


def test_the_frames_of_a_prompt_are_its_frame_parts_in_order() -> None:
    first, second = (FramePart(f"[{n}]", make_frame_ref(CameraId("gate"), n)) for n in (1, 2))

    assert Prompt("s", (first, TextPart("still"), second), "q").frames == (first, second)
    assert Prompt("s", (), "q").frames == ()


def test_the_pictures_of_a_dialogue_are_those_of_all_messages_in_order() -> None:
    first, second = (PicturePart(make_frame_ref(CameraId("gate"), n)) for n in (1, 2))
    asked = Message(Role.USER, (TextPart("a "), first, TextPart("b")))

    assert Dialogue((asked, Message(Role.USER, (second,)))).frames == (first, second)
    assert asked.text == "a b"
