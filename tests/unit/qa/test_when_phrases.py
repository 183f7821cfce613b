"""How a table of phrases is read."""

import re
from datetime import date

from qa.when_phrases import Found, Phrase, between, find, to_moment
from qa.when_range import Between, Day, Last, Moment, Since

TODAY = date(2026, 11, 30)
DAYS = {"today": Day(0), "yesterday": Day(-1)}


class Table:
    """A table of three phrases."""

    phrases = (
        Phrase(re.compile(r"lately"), lambda _match, _read: Last(60)),
        Phrase(re.compile(r"since (?P<a>\w+)"), to_moment(Since)),
        Phrase(re.compile(r"from (?P<a>\w+) to (?P<b>\w+)"), between),
    )

    def tidy(self, text: str) -> str:
        return text.lower()

    def moment(self, text: str, today: date) -> Moment | None:
        return Moment(day=DAYS[text]) if text in DAYS else None


def found(text: str) -> Found | None:
    return find(text, Table(), today=TODAY)


def test_the_longest_phrase_says_what_a_question_asks_about() -> None:
    assert found("Lately, I mean Since Yesterday?") == Found(Since(Moment(day=Day(-1))), "Since Yesterday")


def test_of_equally_long_ones_the_first_counts() -> None:
    assert found("lately or lately") == Found(Last(60), "lately")


def test_a_phrase_whose_end_point_is_none_is_no_phrase() -> None:
    assert found("since dinner") is None
    assert found("from dinner to today") is None
    assert found("since dinner, lately") == Found(Last(60), "lately")


def test_two_end_points_make_a_range() -> None:
    assert found("from yesterday to today") == Found(
        Between(Moment(day=Day(-1)), Moment(day=Day(0))), "from yesterday to today"
    )


def test_a_text_without_phrases_has_none() -> None:
    assert found("what is there?") is None
