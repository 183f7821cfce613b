"""Measurements in English."""

import pytest

from core.records import Direction, Side
from qa.measured_en import EnglishWords
from qa.measured_words import Ending, Rest, Story

WORDS = EnglishWords()


def story(**changed: object) -> Story:
    facts: dict[str, object] = {
        "came": "[14:00:01]",
        "went": "[14:00:09]",
        "present": False,
        "entered": None,
        "left": None,
        "direction": None,
        "ending": Ending.LAST_SEEN,
        "duration_us": 8_000_000,
        "size": 0.004,
        "colour": None,
    }
    return Story(**(facts | changed))  # type: ignore[arg-type]  # the table above has every field


def test_what_was_not_seen_to_come_or_go_appeared_and_was_last_seen() -> None:
    assert WORDS.one(story()) == (
        "Something appeared at [14:00:01] and was last seen moving at [14:00:09] (8 s, under 1% of the picture)."
    )


def test_what_went_out_where_it_came_in_has_no_way() -> None:
    told = WORDS.one(story(entered=Side.TOP, left=Side.TOP, ending=Ending.LEFT, size=0.25))
    assert told == (
        "Something came in from the top at [14:00:01] and left at the top at [14:00:09] "
        "(8 s, up to 25% of the picture)."
    )


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (300_000, "under 1 s"),
        (1_400_000, "1 s"),
        (99_000_000, "99 s"),
        (125_000_000, "2 min 5 s"),
        (7_500_000_000, "2 h 5 min"),
    ],
)
def test_lengths_are_short_and_exact(us: int, text: str) -> None:
    assert f"({text}, " in WORDS.one(story(duration_us=us))


def test_the_rest_is_counted_by_sort() -> None:
    assert WORDS.rest(Rest(12, 1, 2), "[a]", "[b]") == (
        "12 more movements, 1 change of the whole picture and 2 times without signal between [a] and [b]."
    )
    assert WORDS.rest(Rest(movements=1), "[a]", "[b]") == "1 more movement between [a] and [b]."


def test_what_stayed_in_its_place_went_no_way() -> None:
    assert WORDS.way(story()) == "What moved last stayed about where it was ([14:00:09])."
    assert WORDS.way(story(direction=Direction.UP)) == "What moved last moved up ([14:00:09])."


def test_what_is_there_has_been_there() -> None:
    assert WORDS.lasted(story(ending=Ending.STILL_THERE, present=True)) == (
        "What moved last has been there for at least 8 s ([14:00:09])."
    )
