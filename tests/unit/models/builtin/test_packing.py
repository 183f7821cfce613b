from random import Random

import numpy as np
import pytest

from core.ids import CameraId, make_frame_ref
from models.builtin.packing import NOT_WANTED, PackedRow, pack
from models.builtin.questions import AskedQuestion, draw_pack
from models.chat import SYSTEM_TEXT, Cells, ChatTokens, render
from models.prompt import FramePart, Prompt, TextPart, Turn
from tests.support.toy_scenes import thing, watched

TOKENS = ChatTokens(1001, 1002, 1003, 1004, 1005)
PARTS = (
    *(FramePart(f"[14:03:0{n}]", make_frame_ref(CameraId("toy"), n)) for n in range(3)),
    TextPart("(It is now 14:03:05.)"),
)
CELLS = [Cells(2, 3)] * 3


class Bytes:
    def encode(self, text: str) -> list[int]:
        return list(text.encode())


@pytest.fixture
def questions() -> list[AskedQuestion]:
    seen = watched(
        thing(1, to=(0.9, 0.5)), thing(2, "blue", "square", at=(0.2, 0.2), comes_s=1.5), frames_s=(0, 1, 2)
    )
    return draw_pack(Random(3), seen, 8)


@pytest.fixture
def row(questions: list[AskedQuestion]) -> PackedRow:
    return pack(PARTS, [(question,) for question in questions], CELLS, text=Bytes(), tokens=TOKENS)


def test_a_group_behind_the_shared_part_is_the_prompt_that_serving_renders(
    row: PackedRow, questions: list[AskedQuestion]
) -> None:
    for number, question in enumerate(questions, start=1):
        mine = (row.groups == 0) | (row.groups == number)
        prompt = Prompt(SYSTEM_TEXT, PARTS, question.text, question.history)
        alone = render(prompt, CELLS, text=Bytes(), tokens=TOKENS, answer=question.answer)
        count = int(mine.sum())
        assert np.array_equal(row.ids[mine], alone.ids[:count])
        assert np.array_equal(row.positions[:, mine], alone.positions[:, :count])


def test_wanted_is_the_answer_with_its_end_token_and_nothing_else(
    row: PackedRow, questions: list[AskedQuestion]
) -> None:
    for number, question in enumerate(questions, start=1):
        wanted = row.wanted[(row.groups == number) & (row.wanted != NOT_WANTED)]
        assert bytes(wanted[:-1].tolist()).decode() == question.answer
        assert wanted[-1] == TOKENS.im_end


def test_the_frames_are_in_the_shared_part(row: PackedRow) -> None:
    assert len(row.frames) == 3
    assert not row.groups[: row.frames[-1].end].any()


def test_one_question_alone_is_packed_too(questions: list[AskedQuestion]) -> None:
    row = pack(PARTS, [questions[:1]], CELLS, text=Bytes(), tokens=TOKENS)
    assert (row.wanted != NOT_WANTED).sum() == len(questions[0].answer.encode()) + 1


def test_a_conversation_is_the_prompt_of_its_last_question_and_every_answer_in_it_is_wanted(
    questions: list[AskedQuestion],
) -> None:
    first, second = [question for question in questions if not question.history][:2]
    row = pack(PARTS, [(first, second)], CELLS, text=Bytes(), tokens=TOKENS)
    prompt = Prompt(SYSTEM_TEXT, PARTS, second.text, (Turn(first.text, first.answer),))
    alone = render(prompt, CELLS, text=Bytes(), tokens=TOKENS, answer=second.answer)
    assert np.array_equal(row.ids, alone.ids[: row.ids.shape[0]])
    for number, question in enumerate((first, second), start=1):
        wanted = row.wanted[row.asked == number]
        assert bytes(wanted[:-1].tolist()).decode() == question.answer
        assert wanted[-1] == TOKENS.im_end
