import numpy as np

from core.ids import CameraId, make_frame_ref
from models.chat import SYSTEM_TEXT, Cells, ChatTokens, count_text_tokens, image_positions, render
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart, Turn

TOKENS = ChatTokens(im_start=-1, im_end=-2, vision_start=-3, vision_end=-4, image_pad=-5)
SHOWN = {-1: "<S>", -2: "<E>", -3: "<v>", -4: "</v>", -5: "#"}


class Letters:
    """A text encoder with a token for each character."""

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text]


def frame(n: int) -> FramePart:
    return FramePart(f"[14:03:{n:02d}]", make_frame_ref(CameraId("gate"), n, encoder="e", detail="6"))


def shown(ids: np.ndarray) -> str:
    return "".join(SHOWN.get(i) or chr(i) for i in ids.tolist())


def test_frames_come_right_behind_their_labels_then_history_and_the_question_last() -> None:
    prompt = Prompt("S.", (frame(1), TextPart("still"), frame(2)), "Q2?", (Turn("Q1?", "A1."),))
    row = render(prompt, [Cells(1, 2), Cells(2, 2)], text=Letters(), tokens=TOKENS)

    assert shown(row.ids) == (
        "<S>system\nS.<E>\n<S>user\n[14:03:01]<v>##</v>\nstill\n[14:03:02]<v>####</v>\nQ1?<E>\n"
        "<S>assistant\nA1.<E>\n<S>user\nQ2?<E>\n<S>assistant\n"
    )


def test_a_dialogue_is_rendered_message_by_message_with_its_pictures_where_they_stand() -> None:
    picture = PicturePart(make_frame_ref(CameraId("gate"), 1, encoder="e", detail="6"))
    dialogue = Dialogue(
        (
            Message(Role.SYSTEM, (TextPart("S."),)),
            Message(Role.USER, (TextPart("a"), picture, TextPart("b?"))),
            Message(Role.ASSISTANT, (TextPart("A."),)),
            Message(Role.USER, (TextPart("c?"),)),
        )
    )
    row = render(dialogue, [Cells(1, 2)], text=Letters(), tokens=TOKENS)

    assert shown(row.ids) == (
        "<S>system\nS.<E>\n<S>user\na<v>##</v>b?<E>\n<S>assistant\nA.<E>\n<S>user\nc?<E>\n<S>assistant\n"
    )
    assert [(placed.ref, placed.tokens) for placed in row.frames] == [(picture.ref, 2)]
    assert row.next_position == row.positions.max() + 1


def test_a_dialogue_without_a_system_message_gets_none() -> None:
    row = render(Dialogue((Message(Role.USER, (TextPart("q?"),)),)), [], text=Letters(), tokens=TOKENS)
    assert shown(row.ids) == "<S>user\nq?<E>\n<S>assistant\n"


def test_texts_that_meet_are_tokenised_as_one_as_a_server_does_that_renders_a_template_first() -> None:
    class Pieces(Letters):
        def encode(self, text: str) -> list[int]:
            asked.append(text)
            return super().encode(text)

    asked: list[str] = []
    parts = (TextPart("still"), frame(1), TextPart("still"), TextPart("bounds"))
    render(Prompt("S.", parts, "Q?"), [Cells(1, 1)], text=Pieces(), tokens=TOKENS)

    assert asked == [
        "system\nS.",
        "\n",
        "user\n\nstill\n[14:03:01]",
        "\nstill\n\nbounds\n\nQ?",
        "\n",
        "assistant\n",
    ]


def test_placed_frames_say_where_their_image_tokens_are() -> None:
    row = render(
        Prompt("", (frame(1), frame(2)), "q"), [Cells(2, 3), Cells(1, 1)], text=Letters(), tokens=TOKENS
    )

    assert [set(row.ids[f.start : f.end].tolist()) for f in row.frames] == [{-5}, {-5}]
    assert [f.tokens for f in row.frames] == [6, 1]
    assert row.vision_tokens == 7
    assert row.ids[row.stem - 1] == TOKENS.vision_end
    assert row.stem == row.frames[-1].end + 1


def test_a_prompt_without_frames_has_no_stem() -> None:
    assert render(Prompt("s", (), "q"), [], text=Letters(), tokens=TOKENS).stem == 0


def test_nothing_that_differs_between_questions_stands_before_the_frames() -> None:
    parts = (frame(1), frame(2))
    one = render(Prompt("s", parts, "one?"), [Cells(1, 2)] * 2, text=Letters(), tokens=TOKENS)
    other = render(
        Prompt("s", parts, "and?", (Turn("a", "b"),)), [Cells(1, 2)] * 2, text=Letters(), tokens=TOKENS
    )

    assert one.ids[: one.stem].tolist() == other.ids[: other.stem].tolist()


def test_a_picture_stands_still_in_time_and_counts_rows_and_columns() -> None:
    time, row, column = image_positions(10, Cells(2, 3)).tolist()

    assert time == [10] * 6
    assert row == [10, 10, 10, 11, 11, 11]
    assert column == [10, 11, 12, 10, 11, 12]


def test_text_goes_on_after_the_longer_side_of_a_picture() -> None:
    row = render(Prompt("", (frame(1),), "q"), [Cells(2, 5)], text=Letters(), tokens=TOKENS)
    placed = row.frames[0]

    assert row.positions[:, placed.end].tolist() == [row.positions[0, placed.start] + 5] * 3
    assert row.next_position == row.positions.max() + 1
    assert row.positions.shape == (3, row.tokens)


def test_a_wanted_answer_is_appended_with_its_end_for_training() -> None:
    prompt = Prompt("s", (), "q")
    asked = render(prompt, [], text=Letters(), tokens=TOKENS)
    taught = render(prompt, [], text=Letters(), tokens=TOKENS, answer="yes")

    assert shown(taught.ids) == shown(asked.ids) + "yes<E>\n"


def test_text_tokens_are_counted_without_the_template() -> None:
    assert count_text_tokens(["ab", "c"], text=Letters()) == 3


def test_the_system_text_asks_for_times_from_labels_and_for_honesty() -> None:
    assert "[14:03:05]" in SYSTEM_TEXT
    assert "never guess" in SYSTEM_TEXT
    assert len(SYSTEM_TEXT.split()) < 90
