from models.builtin.wording import Asked
from models.builtin.wording_en import ENGLISH


def test_every_form_of_a_question_about_one_thing_names_it() -> None:
    for kind in (Asked.WHERE, Asked.THERE, Asked.WAY, Asked.APPEARED, Asked.LEFT):
        assert all("thing}" in form for form in ENGLISH.forms[kind])


def test_plurals_are_english() -> None:
    assert sorted(ENGLISH.plurals.values()) == ["circles", "crosses", "squares", "triangles"]
