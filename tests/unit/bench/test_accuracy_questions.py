from random import Random
from zoneinfo import ZoneInfo

import pytest

from bench.accuracy_questions import (
    Mention,
    answer_again,
    draw_asking,
    fill,
    put_follow_up,
    put_question,
    thing_of,
)
from models.builtin.answering import Target
from models.builtin.questions import AskedQuestion
from models.builtin.things import ThingColour, ThingShape
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue
from models.builtin.wording_en import ENGLISH
from qa.language import language_of
from qa.when import read_when
from tests.support.toy_scenes import thing, watched

SECOND = 1_000_000
NOW = 1_790_000_040 * SECOND + 300_000
TIMES = [NOW - (20 - n) * SECOND for n in range(20)]
UTC = ZoneInfo("UTC")


@pytest.mark.parametrize("tongue", Tongue)
def test_words_about_time_mean_to_the_product_what_the_bench_means(tongue: Tongue) -> None:
    random = Random(1)
    seen: set[Mention] = set()
    for _ in range(600):
        kind = random.choice(list(Asked))
        asking = draw_asking(random, kind, tongue, times_us=TIMES, now_us=NOW, mark=4)
        span = read_when(asking.form, language=language_of(asking.form), now_us=NOW, zone=UTC).span
        seen.add(asking.mention)
        match asking.mention:
            case Mention.NOTHING if "现在" not in asking.form:
                assert span is None
            case Mention.NOW | Mention.JUST_NOW | Mention.LAST | Mention.SINCE:
                assert span is not None
                assert span.end_us == NOW
            case Mention.BETWEEN:
                assert span is not None
                assert TIMES[0] <= span.start_us < span.end_us <= NOW
            case Mention.AT:
                assert span is not None
                assert asking.at_us is not None
                assert asking.at_us in span
            case Mention.MARKED:
                assert asking.span is not None
                assert sum(t_us in asking.span for t_us in TIMES) == 4
            case _:
                pass
    assert seen == set(Mention)


def test_a_question_is_put_with_its_true_answer() -> None:
    scene = watched(thing(1, "red", "circle", at=(0.15, 0.15)))
    random = Random(2)
    for kind in Asked:
        asking = draw_asking(random, kind, Tongue.EN, times_us=TIMES, now_us=NOW, mark=4)
        question = next(q for _ in range(99) if (q := put_question(random, asking, scene)) is not None)
        assert "{" not in question.text
        assert question.answer
        assert question.kind is kind


def test_places_near_a_border_are_not_asked_about() -> None:
    near = watched(thing(1, "red", "circle", at=(1 / 3 + 0.04, 0.15)))
    question = AskedQuestion(
        Asked.WHERE, Tongue.EN, Target(ThingColour.RED, ThingShape.CIRCLE), "Where is the red circle?", ""
    )
    assert answer_again(question, near) is None
    far = answer_again(question, watched(thing(1, "red", "circle", at=(1 / 3 + 0.06, 0.15))))
    assert far is not None
    assert far.answer == "At the top."


def test_it_is_the_thing_that_was_asked_about() -> None:
    scene = watched(thing(1, "red", "circle", at=(0.15, 0.15)))
    before = AskedQuestion(
        Asked.SHAPE, Tongue.EN, Target(ThingColour.RED), "What is the red thing?", "A circle."
    )
    about = thing_of(before, scene)
    assert about is not None
    follow_up = put_follow_up(Random(3), Asked.WHERE, before, about, scene)
    assert follow_up is not None
    assert follow_up.answer == "At the top left."
    assert "it" in follow_up.text
    assert thing_of(AskedQuestion(Asked.SEE, Tongue.EN, Target(), "", ""), scene) is None


def test_all_slots_of_all_forms_are_filled() -> None:
    target = Target(ThingColour.ORANGE, ThingShape.CROSS)
    for forms in (*ENGLISH.forms.values(), ENGLISH.some_forms):
        for form in forms:
            assert "{" not in fill(form.replace("{when}", ""), target, ENGLISH)
    assert "an orange cross" in fill("Is there {a thing}?", target, ENGLISH)
    assert SINGLE_FRAME
