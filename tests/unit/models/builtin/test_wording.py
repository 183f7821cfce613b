from pathlib import Path

import pytest

from models.builtin.questions import WORDS
from models.builtin.things import ThingColour, ThingShape
from models.builtin.watched import Way
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue, Words
from models.builtin.wording_en import ENGLISH
from models.builtin.wording_zh import CHINESE


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_each_language_has_words_for_everything(words: Words) -> None:
    assert set(words.forms) == set(Asked)
    assert set(words.colours) == set(ThingColour)
    assert set(words.shapes) == set(words.plurals) == set(ThingShape)
    assert set(words.ways) == set(Way) - {Way.NOWHERE}
    assert [len(row) for row in words.zones] == [3, 3, 3]
    assert len(words.counts) == 5


def test_both_languages_answer_with_the_same_set_of_sentences() -> None:
    assert ENGLISH.answers.keys() == CHINESE.answers.keys()
    assert set(WORDS) == set(Tongue)


def test_english_articles_follow_the_sound() -> None:
    assert ENGLISH.a("orange cross") == "an orange cross"
    assert ENGLISH.a("red cross") == "a red cross"
    assert CHINESE.a("红色圆形") == "红色圆形"


def test_kinds_over_time_are_all_the_others() -> None:
    assert Asked.HAPPENED not in SINGLE_FRAME
    assert Asked.HOW_MANY in SINGLE_FRAME


def test_every_form_is_on_the_documented_list() -> None:
    page = (Path(__file__).parents[4] / "docs" / "builtin.md").read_text()
    for words in WORDS.values():
        forms = [
            *words.some_forms,
            *(form for kind in (words.forms, words.follow_forms) for f in kind.values() for form in f),
        ]
        assert not [form for form in forms if f"`{form}`" not in page]
