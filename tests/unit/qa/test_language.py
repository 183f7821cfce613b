"""In which language a question is."""

import pytest

from qa.answers import Language
from qa.language import language_of


@pytest.mark.parametrize("text", ["刚刚发生了什么？", "what does 门 mean?", "㐂", "𠀀"])
def test_any_chinese_character_makes_a_question_chinese(text: str) -> None:
    assert language_of(text) is Language.ZH


@pytest.mark.parametrize("text", ["what happened?", "", "¿qué pasó?", "14:03？", "🚗"])
def test_everything_else_is_answered_in_english(text: str) -> None:
    assert language_of(text) is Language.EN
