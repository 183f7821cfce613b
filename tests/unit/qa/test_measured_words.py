"""Both languages can say everything, end their sentences, keep every time, and name no kind of thing."""

from itertools import product

import pytest

from core.records import Colour, Direction, SceneChangeKind, Side
from qa.measured_en import EnglishWords
from qa.measured_words import Ending, Rest, Words
from qa.measured_zh import ChineseWords
from tests.support.measured_evidence import KINDS
from tests.unit.qa.test_measured_en import story

A, B = "[14:00:01]", "[14:00:09]"


@pytest.fixture(params=[EnglishWords, ChineseWords])
def words(request: pytest.FixtureRequest) -> Words:
    made: Words = request.param()
    return made


def check(sentence: str, *times: str) -> None:
    assert sentence[-1] in ".。"
    assert all(time in sentence for time in times), sentence
    assert not KINDS.search(sentence), sentence
    assert "None" not in sentence
    assert "  " not in sentence, sentence


def test_every_story_can_be_told(words: Words) -> None:
    for entered, left, direction, ending, present in product(
        (None, *Side), (None, *Side), (None, *Direction), Ending, (True, False)
    ):
        told = story(entered=entered, left=left, direction=direction, ending=ending, present=present)
        check(words.one(told), A, B)
        check(words.several(A, B, [told, told]), A, B)
        check(words.way(told), B)
        check(words.lasted(told), B)


def test_every_colour_and_change_has_a_word(words: Words) -> None:
    for colour in (None, *Colour):
        check(words.colour(colour, A), A)
        check(words.one(story(colour=colour)), A, B)
    assert len({words.change(kind, A) for kind in SceneChangeKind}) == len(SceneChangeKind)
    for kind in SceneChangeKind:
        check(words.change(kind, A), A)


def test_everything_else_can_be_said(words: Words) -> None:
    check(
        words.many(
            A, B, 12, [(Side.LEFT, Side.TOP, 8), (None, Side.TOP, 2), (Side.LEFT, None, 1), (None, None, 1)]
        ),
        A,
        B,
    )
    check(words.gap("14:00:01-14:00:09"))
    for ongoing in (True, False):
        check(words.still(A, B, ongoing=ongoing), A, B)
    check(words.still(A, A, ongoing=False), A)
    check(words.slight(A, B), A, B)
    check(words.quiet_since(A, B), A, B)
    check(words.looked(A), A)
    check(words.unseen("14:00:01-14:00:09"))
    for rest in (Rest(1), Rest(0, 1), Rest(0, 0, 1), Rest(2, 2, 2)):
        check(words.rest(rest, A, B), A, B)
    for count in (0, 1, 5):
        check(words.count(count, 2))
    for there in (True, False):
        check(words.presence(A, there=there), A)
