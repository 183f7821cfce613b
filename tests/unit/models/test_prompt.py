from core.ids import CameraId, make_frame_ref
from models.prompt import FramePart, Prompt, TextPart


def test_the_frames_of_a_prompt_are_its_frame_parts_in_order() -> None:
    first, second = (FramePart(f"[{n}]", make_frame_ref(CameraId("gate"), n)) for n in (1, 2))

    assert Prompt("s", (first, TextPart("still"), second), "q").frames == (first, second)
    assert Prompt("s", (), "q").frames == ()
