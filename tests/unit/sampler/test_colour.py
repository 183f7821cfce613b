"""Rough colours."""

import numpy as np
import pytest

from core.records import Colour
from sampler.colour import NAMES, ColourVote, names_of


@pytest.mark.parametrize(
    ("rgb", "expected"),
    [
        ((15, 15, 20), Colour.BLACK),
        ((60, 20, 20), Colour.BLACK),
        ((128, 126, 130), Colour.GREY),
        ((235, 240, 238), Colour.WHITE),
        ((200, 25, 35), Colour.RED),
        ((230, 120, 20), Colour.ORANGE),
        ((240, 220, 30), Colour.YELLOW),
        ((30, 150, 60), Colour.GREEN),
        ((30, 70, 200), Colour.BLUE),
        ((120, 30, 160), Colour.PURPLE),
        ((110, 65, 30), Colour.BROWN),
    ],
)
def test_plain_colours_have_the_names_people_give_them(rgb: tuple[int, int, int], expected: Colour) -> None:
    assert NAMES[names_of(np.array([rgb], dtype=np.uint8))[0]] is expected


def picture(**parts: tuple[slice, tuple[int, int, int]]) -> np.ndarray:
    found = np.full((40, 60, 3), 120, dtype=np.uint8)
    for rows, colour in parts.values():
        found[rows, 20:40] = colour
    return found


INSIDE = np.zeros((40, 60), dtype=np.uint8)
INSIDE[10:30, 20:40] = 1


def test_the_colour_that_prevails_wins() -> None:
    vote = ColourVote()
    vote.add(picture(roof=(slice(10, 24), (200, 20, 30)), glass=(slice(24, 30), (20, 20, 20))), INSIDE, None)
    assert vote.result() is Colour.RED


def test_mixed_colours_are_no_colour() -> None:
    vote = ColourVote()
    vote.add(picture(a=(slice(10, 20), (200, 20, 30)), b=(slice(20, 30), (20, 40, 200))), INSIDE, None)
    assert vote.result() is None
    assert ColourVote().result() is None


def test_the_shadow_it_throws_does_not_count() -> None:
    empty = np.full((40, 60, 3), 150, dtype=np.uint8)
    now = empty.copy()
    now[10:16, 20:40] = (200, 20, 30)
    now[16:30, 20:40] = 112  # three quarters of the light
    vote = ColourVote()
    vote.add(now, INSIDE, empty)
    assert vote.result() is Colour.RED


def test_too_few_pixels_say_nothing() -> None:
    tiny = np.zeros((40, 60), dtype=np.uint8)
    tiny[10:12, 20:24] = 1
    vote = ColourVote()
    vote.add(picture(), tiny, None)
    assert (vote.result(), vote.rounds) == (None, 0)
