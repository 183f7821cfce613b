"""What sort of measurement a question is after. Pure; anything unknown gets the general account."""

import re
from enum import Enum


class Asked(Enum):
    """Questions that a measurement can answer in one sentence."""

    COUNT = "count"
    PRESENCE = "presence"
    COLOUR = "colour"
    WAY = "way"
    DURATION = "duration"
    ACCOUNT = "account"


_PATTERNS = (
    (Asked.COUNT, r"\bhow many\b|\bcount\b|\bnumber of\b|多少(?!秒|分|时间|久)|几(?:个|位|辆|只|件|样)"),
    (Asked.COLOUR, r"\bwhat colou?rs?\b|\bwhich colou?rs?\b|什么颜色|哪种颜色|啥颜色"),
    (Asked.DURATION, r"\bhow long\b|多久|多长时间|多少时间"),
    (Asked.WAY, r"\b(?:which|what) (?:way|direction|side)\b|\bwhere did .+ go\b|[往向朝]哪|哪个方向|去哪"),
    (
        Asked.PRESENCE,
        r"\b(?:is|are) there\b|\bis (?:any|some)(?:one|body|thing)\b|\bstill there\b|有没有|是否有|[有在].{0,6}吗",
    ),
)


def asked_for(text: str) -> Asked:
    """Return what ``text`` asks to be measured."""
    lowered = text.lower()
    return next((asked for asked, pattern in _PATTERNS if re.search(pattern, lowered)), Asked.ACCOUNT)
