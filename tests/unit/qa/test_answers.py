"""Values of a question and its answer."""

from core.ids import RequestId
from qa.answers import AnswerDone, AnswerUsage, Outcome, Question, Timings


def test_a_question_needs_an_id_a_text_and_a_time_only() -> None:
    question = Question(RequestId("req_1"), "what?", 5)
    assert (question.cameras, question.window, question.conversation) == ((), None, None)


def test_the_text_of_an_answer_stays_out_of_logs() -> None:
    done = AnswerDone(
        RequestId("req_1"), Outcome.OK, (), AnswerUsage(), Timings(), 0, 0, "measured", text="a private thing"
    )
    assert "private" not in repr(done)
