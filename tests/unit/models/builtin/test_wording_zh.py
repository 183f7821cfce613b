import re

from models.builtin.wording_zh import CHINESE


def test_chinese_sentences_hold_no_english_word() -> None:
    texts = [form for forms in CHINESE.forms.values() for form in forms] + list(CHINESE.answers.values())
    assert not [text for text in texts if re.search("[A-Za-z]", re.sub(r"\{[^}]*\}", "", text))]
