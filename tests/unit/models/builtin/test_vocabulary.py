import pytest

from models.builtin.questions import WORDS
from models.builtin.vocabulary import SPECIAL_TOKENS, build_tokenizer, special_ids
from models.chat import SYSTEM_TEXT

pytestmark = pytest.mark.torch


def test_every_word_of_the_toy_world_one_token_and_so_is_a_pair_of_digits() -> None:
    tokenizer = build_tokenizer()
    for text, count in ((" circle", 1), ("红色", 1), ("左上角", 1), ("14:03", 3), ("[14:03:05]", 7)):
        assert len(tokenizer.encode(text).ids) == count, text
    for words in WORDS.values():
        for name in (*words.shapes.values(), *words.colours.values()):
            assert len(tokenizer.encode(f" {name}" if name.isascii() else name).ids) == 1
    assert len(tokenizer.encode(SYSTEM_TEXT).ids) < 100


def test_any_text_survives() -> None:
    tokenizer = build_tokenizer()
    for text in ("Größe ∑ 🚲 何ですか", " a  b\n\tc", "红色圆形在左上角。"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_special_tokens_have_ids_and_building_again_gives_the_same_tokenizer() -> None:
    tokenizer = build_tokenizer()
    assert set(special_ids(tokenizer)) == set(SPECIAL_TOKENS)
    assert None not in special_ids(tokenizer).values()
    assert tokenizer.to_str() == build_tokenizer().to_str()
    assert tokenizer.get_vocab_size() < 1_200
