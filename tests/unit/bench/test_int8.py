from dataclasses import replace

import pytest

from bench.accuracy_tally import Answered
from bench.int8 import EACH, differing, figures, kinds_of
from models.builtin.wording import Asked, Tongue

RED = Answered(
    kind=Asked.COLOUR,
    tongue=Tongue.EN,
    mention="now",
    frames=8,
    turns=0,
    text="What colour is it?",
    answer="Red.",
    given="Red.",
    exact=True,
    true=True,
)
BLUE = replace(RED, given="Blue.", exact=False, true=False)


def test_the_share_of_answers_that_differ_is_counted_letter_by_letter() -> None:
    figure = differing("int8.differ", [RED] * 200, [RED] * 199 + [BLUE])
    assert (figure.value, figure.n) == (0.005, 200)
    assert figure.spread[0] < 0.005 < figure.spread[1] < 0.03


def test_answers_to_other_questions_are_not_compared() -> None:
    with pytest.raises(ValueError, match="not the same questions"):
        differing("int8.differ", [RED], [replace(RED, text="How many?")])


def test_what_differs_by_chance_has_a_row_only_where_it_was_asked() -> None:
    quick = {figure.name: figure.value for figure in figures([RED, RED], [RED, BLUE], [])}
    assert quick == {"int8.differ": 0.5, "int8.true.16bit": 1.0, "int8.true.8bit": 0.5}
    assert "int8.differ_by_chance" in {figure.name for figure in figures([RED], [RED], [RED])}


def test_every_kind_is_asked_about_equally_often_and_each_question_stands_alone() -> None:
    conversations = kinds_of(3)
    assert conversations == kinds_of(3)
    assert len(conversations) == EACH
    assert {len(kinds) for kinds in conversations} == {1}
    counts = [sum(kinds == [kind] for kinds in conversations) for kind in Asked]
    assert max(counts) - min(counts) <= 1
