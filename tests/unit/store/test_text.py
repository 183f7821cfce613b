import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.text import clean


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("", ""),
        ("plain", "plain"),
        ("ab\0cd", "abcd"),
        ("谁\0来了", "谁来了"),
        ("ab\ud800cd", "ab\ufffdcd"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ufeffbom", "\ufeffbom"),
    ],
)
def test_what_no_database_can_keep_is_taken_out(given: str, kept: str) -> None:
    assert clean(given) == kept


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_good_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@given(st.text(alphabet=st.characters(categories=["Cs", "L", "Cc"])))
def test_whatever_comes_out_is_good_text_and_stays_so(text: str) -> None:
    cleaned = clean(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == cleaned


def test_a_broken_escape_of_a_json_writer_is_survived() -> None:
    assert clean(json.loads('"caption \\ud83d"')) == "caption \ufffd"
