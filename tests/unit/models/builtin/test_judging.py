import pytest

from models.builtin.answering import Target, true_answer
from models.builtin.judging import right
from models.builtin.questions import WORDS, AskedQuestion
from models.builtin.watched import Watched
from models.builtin.wording import Asked, Tongue
from tests.support.toy_scenes import thing, watched

SEEN = watched(
    thing(1, at=(0.15, 0.2), leaves_s=5.5),
    thing(2, "blue", "square", at=(0.8, 0.5), comes_s=0.5),
    frames_s=(0, 1, 2, 3, 6),
)


def _asked(kind: Asked, tongue: Tongue = Tongue.EN, seen: Watched = SEEN) -> AskedQuestion:
    answer = true_answer(kind, Target(), seen, WORDS[tongue])
    assert answer is not None
    return AskedQuestion(kind, tongue, Target(), "?", answer)


@pytest.mark.parametrize("kind", [Asked.SEE, Asked.HOW_MANY, Asked.HAPPENED, Asked.MOVED])
@pytest.mark.parametrize("tongue", list(Tongue))
def test_the_true_answer_is_right_and_an_empty_one_is_not(kind: Asked, tongue: Tongue) -> None:
    asked = _asked(kind, tongue)
    assert right(asked, asked.answer, SEEN)
    assert not right(asked, "", SEEN)


def test_what_is_listed_may_come_in_any_order() -> None:
    seen = watched(thing(1, at=(0.15, 0.2)), thing(2, "blue", "square", at=(0.8, 0.5)))
    asked = _asked(Asked.SEE, seen=seen)
    assert right(asked, "A blue square on the right, a red circle at the top left.", seen)
    assert not right(asked, "A blue square on the right.", seen)
    assert not right(asked, "A blue square on the right, a blue square on the right.", seen)
    assert not right(asked, "A red circle on the right, a blue square at the top left.", seen)


@pytest.mark.parametrize(
    ("told", "is_right"),
    [
        ("The red circle left at [14:03:06]. A blue square appeared at [14:03:01].", True),
        ("A blue square appeared at [14:03:02]. The red circle left at [14:03:06].", True),
        ("A blue square appeared at [14:03:01]. The red circle left at [14:03:03].", True),
        ("A blue square appeared at [14:03:03]. The red circle left at [14:03:06].", False),
        ("A blue square appeared at [14:03:01]. The red circle left at [14:03:05].", False),
        ("A blue circle appeared at [14:03:01]. The red circle left at [14:03:06].", False),
        ("A blue square appeared at [14:03:01].", False),
    ],
)
def test_times_are_right_when_near_and_copied_from_a_used_frame(told: str, is_right: bool) -> None:
    assert right(_asked(Asked.HAPPENED), told, SEEN) is is_right
