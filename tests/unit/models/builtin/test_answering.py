import pytest

from models.builtin.answering import Target, true_answer
from models.builtin.things import ThingColour, ThingShape
from models.builtin.watched import Watched
from models.builtin.wording import Asked
from models.builtin.wording_en import ENGLISH
from models.builtin.wording_zh import CHINESE
from tests.support.toy_scenes import thing, watched

RED_CIRCLE = Target(ThingColour.RED, ThingShape.CIRCLE)
BLUE_SQUARE = Target(ThingColour.BLUE, ThingShape.SQUARE)


def say(kind: Asked, target: Target, seen: Watched) -> tuple[str | None, str | None]:
    return true_answer(kind, target, seen, ENGLISH), true_answer(kind, target, seen, CHINESE)


def test_one_frame_is_told_truly() -> None:
    seen = watched(thing(1, at=(0.15, 0.2)), thing(2, "blue", "square", at=(0.5, 0.5)))
    assert say(Asked.HOW_MANY, Target(), seen) == ("Two.", "两个。")
    assert say(Asked.HOW_MANY, Target(shape=ThingShape.CROSS), seen) == ("None.", "没有。")
    assert say(Asked.COLOUR, Target(shape=ThingShape.CIRCLE), seen) == ("Red.", "红色。")
    assert say(Asked.SHAPE, Target(colour=ThingColour.BLUE), seen) == ("A square.", "方形。")
    assert say(Asked.WHERE, RED_CIRCLE, seen) == ("At the top left.", "在左上角。")
    assert say(Asked.THERE, BLUE_SQUARE, seen) == ("Yes, in the middle.", "有，在中间。")
    assert say(Asked.SEE, Target(), seen) == (
        "A red circle at the top left, a blue square in the middle.",
        "红色圆形在左上角，蓝色方形在中间。",
    )


def test_what_is_not_there_was_not_seen() -> None:
    seen = watched(thing(1))
    assert say(Asked.WHERE, BLUE_SQUARE, seen) == ("I did not see a blue square.", "我没看到蓝色方形。")
    assert say(Asked.THERE, BLUE_SQUARE, seen)[0] == "No, I did not see a blue square."
    assert say(Asked.SHAPE, Target(colour=ThingColour.ORANGE), seen)[0] == "I did not see anything orange."
    assert say(Asked.COLOUR, Target(shape=ThingShape.SQUARE), seen)[0] == "I did not see a square."
    assert say(Asked.LEFT, BLUE_SQUARE, seen)[0] == "I did not see a blue square."
    assert say(Asked.SEE, Target(), watched()) == ("Nothing.", "什么都没有。")


def test_a_span_is_told_with_times_copied_from_labels() -> None:
    seen = watched(thing(1, leaves_s=2.5), thing(2, "blue", "square", at=(0.8, 0.5), comes_s=0.5))
    assert say(Asked.HAPPENED, Target(), seen) == (
        "A blue square appeared at [14:03:01]. The red circle left at [14:03:03].",
        "蓝色方形出现于[14:03:01]。红色圆形离开于[14:03:03]。",
    )
    assert say(Asked.APPEARED, BLUE_SQUARE, seen) == ("At [14:03:01].", "[14:03:01]。")
    assert say(Asked.APPEARED, RED_CIRCLE, seen)[0] == "It was there from the start."
    assert say(Asked.LEFT, BLUE_SQUARE, seen)[0] == "It is still there."
    assert say(Asked.HAPPENED, Target(), watched(thing(1)))[0] == "Nothing appeared and nothing left."


def test_the_time_is_the_label_of_the_last_frame() -> None:
    assert say(Asked.TIME, Target(), watched()) == ("At [14:03:04].", "[14:03:04]。")


def test_moving_is_told_by_its_way() -> None:
    seen = watched(thing(1, to=(0.9, 0.5)), thing(2, "blue", "square", at=(0.2, 0.2)))
    assert say(Asked.WAY, RED_CIRCLE, seen) == ("To the right.", "向右。")
    assert say(Asked.WAY, BLUE_SQUARE, seen) == ("It did not move.", "它没有移动。")
    assert say(Asked.MOVED, Target(), seen)[0] == "The red circle moved to the right."
    assert say(Asked.MOVED, Target(), watched(thing(1)))[0] == "Nothing moved."


@pytest.mark.parametrize(
    ("kind", "target", "seen"),
    [
        (
            Asked.COLOUR,
            Target(shape=ThingShape.CIRCLE),
            watched(thing(1, at=(0.2, 0.2)), thing(2, "blue", at=(0.8, 0.8))),
        ),
        (Asked.WHERE, RED_CIRCLE, watched(thing(1, at=(0.34, 0.5)))),
        (Asked.HOW_MANY, Target(), watched(thing(1, at=(0.0, 0.5)))),
        (Asked.WHERE, RED_CIRCLE, watched(thing(1, at=(-0.02, 0.5)))),
        (Asked.WAY, RED_CIRCLE, watched(thing(1, to=(0.7, 0.85)))),
    ],
)
def test_what_people_would_not_agree_on_is_not_asked(kind: Asked, target: Target, seen: Watched) -> None:
    assert say(kind, target, seen) == (None, None)
