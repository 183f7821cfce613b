"""The Chinese table of phrases about time."""

import re
from datetime import date

from qa.when_en import JUST_BEFORE_US, JUST_NOW_US, NOW_US, RECENTLY_US
from qa.when_phrases import Build, Phrase, ReadMoment, between, to_moment
from qa.when_range import After, Around, At, Before, Between, Last, Moment, Next, Range, Since, Weekday
from qa.when_zh_points import (
    AGO,
    ANY_HOUR,
    DAY,
    LENGTH,
    MOMENT,
    NUMBER,
    POINT,
    UNIT,
    length_us,
    number,
    unit_us,
)
from qa.when_zh_points import read_moment as _read_moment

_SAME_LENGTH = str.maketrans("０１２３４５６７８９：．［］－–—～~", "0123456789:.[]-----")


class ChineseTable:
    """Phrases about time in Chinese."""

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        return _PHRASES

    def tidy(self, text: str) -> str:
        return re.sub(r"\s", " ", text.translate(_SAME_LENGTH))

    def moment(self, text: str, today: date) -> Moment | None:
        return _read_moment(text, today)


def _last(match: re.Match[str], _read: ReadMoment) -> Range | None:
    us, _ = length_us(match["n"])
    return Last(us) if us > 0 else None


def _last_unit(match: re.Match[str], _read: ReadMoment) -> Range:
    return Last(unit_us(match["u"]))


def _next(match: re.Match[str], _read: ReadMoment) -> Range | None:
    us, _ = length_us(match["n"])
    return Next(us) if us > 0 else None


def _between_ago(match: re.Match[str], _read: ReadMoment) -> Range | None:
    unit = unit_us(match["u"])
    near, far = sorted(round(number(match[end]) * unit) for end in ("a", "b"))
    return (
        Between(Moment(ago_us=far, unit_us=unit), Moment(ago_us=near, unit_us=unit)) if near < far else None
    )


def _beside(match: re.Match[str], read: ReadMoment) -> Range | None:
    """Build 三点前五分钟 and 三点刚过 and so on."""
    moment = read(match["a"])
    us, _ = length_us(match["n"]) if match["n"] else (JUST_BEFORE_US, 0)
    if moment is None or us <= 0:
        return None
    return Before(moment, us) if "前" in match["side"] else After(moment, us)


def _always(said: Range) -> Build:
    return lambda _match, _read: said


def _phrase(pattern: str, build: Build) -> Phrase:
    return Phrase(re.compile(rf"(?<![\d:.]){pattern}(?![:.]?\d)"), build)


_ON = rf"(?:(?P<day>{DAY})的?,?，?)?"
_TO = r" ?(?:到|至|-|直到) ?"

_LAST_WEEK = Between(
    Moment(day=Weekday(0, before_this_week=True)), Moment(day=Weekday(6, before_this_week=True))
)

_PHRASES = (
    # lengths before now
    _phrase(
        rf"(?:在)?(?:最近|过去|近|刚才|刚刚|刚过去|前面|之前|这|上)(?:的|这)? ?(?P<n>{LENGTH})(?:之?内|以内|里)?",
        _last,
    ),
    _phrase(rf"(?P<n>{LENGTH})(?:之内|以内|内(?![向容部心]))", _last),
    _phrase(r"(?:上|最近|过去)(?:一|的)?(?P<u>分钟|个?小时|秒钟?)", _last_unit),
    _phrase(rf"(?:未来|接下来|今后|之后的?) ?(?P<n>{LENGTH})", _next),
    # words for now
    _phrase(r"(?:刚才|刚刚|方才|刚)", _always(Last(JUST_NOW_US))),
    _phrase(r"(?:现在|此刻|目前|当前|眼下|这会儿)", _always(Last(NOW_US))),
    _phrase(r"(?:最近|近来)", _always(Last(RECENTLY_US))),
    # words for weeks
    _phrase(
        r"(?:这|本)(?:周|个?星期|个?礼拜)(?![一二三四五六日天末])", _always(Since(Moment(day=Weekday(0))))
    ),
    _phrase(r"上个?(?:周|星期|礼拜)(?![一二三四五六日天末])", _always(_LAST_WEEK)),
    # two end points
    _phrase(rf"(?P<a>{NUMBER})(?:{_TO}|-)(?P<b>{NUMBER}) ?(?P<u>{UNIT})(?:之前|以前|前)", _between_ago),
    _phrase(rf"(?:从|自)?{_ON}(?:从|自)?(?P<a>{MOMENT}){_TO}(?P<b>{MOMENT})(?:之间|期间)?", between),
    _phrase(rf"(?:从|自)?{_ON}(?:从|自)?(?P<a>{POINT}){_TO}(?P<b>{ANY_HOUR})(?:之间|期间)?", between),
    _phrase(rf"{_ON}(?:在)?(?P<a>{POINT})(?:和|与|跟)(?P<b>{POINT})之间", between),
    # one end point
    _phrase(rf"(?:从|自从?)?(?P<a>{MOMENT})(?:以来|起|开始|到现在|至今)", to_moment(Since)),
    _phrase(rf"(?:从|自从|自)(?P<a>{MOMENT})", to_moment(Since)),
    _phrase(rf"(?P<a>{POINT})(?P<side>前|之前|以前|后|之后|以后)的? ?(?P<n>{LENGTH})", _beside),
    _phrase(rf"(?:在)?(?P<a>{MOMENT})(?:之前|以前|前)", to_moment(Before)),
    _phrase(rf"(?:在)?(?P<a>{MOMENT})(?:之后|以后|后|过后)", to_moment(After)),
    _phrase(rf"(?:大约|大概|差不多|接近)(?P<a>{POINT})(?:左右|前后)?", to_moment(Around)),
    _phrase(rf"(?P<a>{POINT})(?:左右|前后|上下)", to_moment(Around)),
    # a point, a day, a part of a day
    _phrase(rf"(?:在)?(?P<a>{AGO})", to_moment(At)),
    _phrase(rf"(?:在)?(?P<a>{POINT})(?:的时候|时)?", to_moment(At)),
    _phrase(rf"(?:在)?(?P<a>{DAY})", to_moment(At)),
)
