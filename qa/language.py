"""In which language a question is asked, and so in which its answer's own sentences are worded."""

import re

from qa.answers import Language

# Han characters with their extensions, and Bopomofo. Kana are left out: Japanese is not one of our languages.
_CJK = re.compile(r"[㐀-䶿一-鿿豈-﫿ㄅ-ㄯ\U00020000-\U0003134f]")


def language_of(text: str) -> Language:
    """Return Chinese where any Chinese character stands in ``text``, English otherwise."""
    return Language.ZH if _CJK.search(text) else Language.EN
