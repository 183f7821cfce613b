import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.stop import StopTexts


def shown(stops: list[str], *pieces: str) -> tuple[str, bool]:
    """Return all that is let through, and whether a stop text ended it."""
    watch = StopTexts(stops)
    text = "".join(watch.push(piece) for piece in pieces)
    return text + watch.rest(), watch.hit


def test_an_answer_ends_before_the_first_stop_text() -> None:
    assert shown(["\n", "END"], "one END two\n") == ("one ", True)


def test_a_stop_text_is_found_across_pieces() -> None:
    assert shown(["END"], "one E", "N", "D two") == ("one ", True)


def test_the_beginning_of_a_stop_text_is_held_back_until_it_is_none() -> None:
    watch = StopTexts(["END"])
    assert watch.push("one E") == "one "
    assert watch.push("N") == ""
    assert watch.push("E") == "EN"
    assert watch.rest() == "E"
    assert not watch.hit


def test_nothing_comes_after_the_end() -> None:
    watch = StopTexts(["."])
    assert watch.push("a.b") == "a"
    assert watch.push("c") == ""
    assert watch.rest() == ""


def test_without_stop_texts_everything_passes_at_once() -> None:
    assert StopTexts([]).push("abc") == "abc"


def test_an_empty_stop_text_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        StopTexts(["a", ""])


@given(
    st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), max_size=3), st.integers(1, 5)
)
def test_what_is_shown_does_not_depend_on_the_pieces(text: str, stops: list[str], size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert shown(stops, *pieces) == shown(stops, *text)


@given(st.text("ab", max_size=30), st.text("ab", min_size=1, max_size=4))
def test_one_stop_text_ends_the_answer_where_it_first_stands(text: str, stop: str) -> None:
    assert shown([stop], text) == (text.partition(stop)[0], stop in text)
