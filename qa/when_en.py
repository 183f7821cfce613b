"""The English table of phrases about time."""

import re
from datetime import date

from qa.when_en_points import (
    AGO,
    DAY,
    ENDS,
    HOUR,
    LENGTH,
    MOMENT,
    NUMBER,
    POINT,
    UNIT,
    length_us,
    number,
    unit_us,
)
from qa.when_en_points import read_moment as _read_moment
from qa.when_phrases import Build, Phrase, ReadMoment, between, to_moment
from qa.when_range import (
    MINUTE_US,
    SECOND_US,
    After,
    Around,
    At,
    Before,
    Between,
    Day,
    Last,
    Moment,
    Next,
    Part,
    Range,
    Since,
    Weekday,
)

NOW_US = 10 * SECOND_US
"""What "now" looks at: the last ten seconds."""

JUST_NOW_US = 30 * SECOND_US
"""What "just now" looks at."""

JUST_BEFORE_US = 2 * MINUTE_US
"""How far "just before" and "right after" a time reach."""

RECENTLY_US = 5 * MINUTE_US
"""What "recently" looks at."""

_SAME_LENGTH = str.maketrans({"’": "'", "–": "-", "—": "-", "：": ":", "，": ",", "？": "?"})


class EnglishTable:
    """Phrases about time in English."""

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
    unit = unit_us(match["u"])
    return Last(unit + unit // 2 if match["half"] else unit)


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
    """Build "just before", "5 minutes after" and so on."""
    moment = read(match["a"])
    us, _ = length_us(match["n"]) if match["n"] else (JUST_BEFORE_US, 0)
    if moment is None or us <= 0:
        return None
    return Before(moment, us) if match["side"].lower() == "before" else After(moment, us)


def _always(said: Range) -> Build:
    return lambda _match, _read: said


def _phrase(pattern: str, build: Build) -> Phrase:
    return Phrase(re.compile(rf"(?<![\w:/-])(?<!\d\.){pattern}(?![\w/]|[:-]\d)", re.IGNORECASE), build)


_ON = rf"(?:(?P<day>{DAY}),? )?"
_LAST = r"(?:(?:in|for|over|during|within|of) )?(?:the |these )?(?:last|past|previous)"
_NO_NUMBER = "".join(rf"(?<!{word} )" for word in ("room", "flat", "number", "ratio", "scale", "score"))
"""What makes 12:30 the number of something."""

_PHRASES = (
    # lengths before now
    _phrase(rf"{_LAST} (?P<n>{LENGTH})", _last),
    _phrase(rf"{_LAST} (?P<u>second|minute|min|hour|day|week)(?P<half> and a half)?", _last_unit),
    _phrase(rf"(?:since|for) (?P<n>{LENGTH}){ENDS}", _last),
    _phrase(rf"(?:the )?(?:next|coming) (?P<n>{LENGTH})", _next),
    # words for now
    _phrase(
        r"(?:just now|a moment ago|moments ago|a second ago|a minute or so ago|just then)",
        _always(Last(JUST_NOW_US)),
    ),
    _phrase(r"(?:right now|at the moment|at this moment|now(?! and then)|currently)", _always(Last(NOW_US))),
    _phrase(r"(?:recently|lately)", _always(Last(RECENTLY_US))),
    # words for days and nights
    _phrase(r"all day", _always(At(Moment(day=Day(0))))),
    _phrase(r"this week", _always(Since(Moment(day=Weekday(0))))),
    _phrase(r"overnight", _always(At(Moment(day=Day(-1), part=Part.NIGHT)))),
    # two end points
    _phrase(rf"between (?P<a>{NUMBER}) and (?P<b>{NUMBER}) (?P<u>{UNIT}) ago", _between_ago),
    _phrase(rf"(?P<a>{NUMBER}) ?(?:to|-) ?(?P<b>{NUMBER}) (?P<u>{UNIT}) ago", _between_ago),
    _phrase(rf"{_ON}between (?P<a>{MOMENT}|{HOUR}) and (?P<b>{MOMENT})", between),
    _phrase(rf"{_ON}between (?P<a>{POINT}) and (?P<b>{HOUR}){ENDS}", between),
    _phrase(
        rf"{_ON}(?<!number )(?<!numbers )(?<!value )between (?P<a>{HOUR}) and (?P<b>{HOUR}){ENDS}", between
    ),
    _phrase(rf"{_ON}from (?P<a>{MOMENT}|{HOUR}) ?(?:to|until|till|-) ?(?P<b>{MOMENT})", between),
    _phrase(rf"{_ON}from (?P<a>{POINT}) ?(?:to|until|till|-) ?(?P<b>{HOUR}){ENDS}", between),
    _phrase(rf"(?P<day>{DAY}),? from (?P<a>{HOUR}) ?(?:to|until|till|-) ?(?P<b>{HOUR}){ENDS}", between),
    _phrase(rf"{_ON}(?P<a>{POINT}|{HOUR}) ?(?:to|until|till|-) ?(?P<b>{POINT})", between),
    # one end point
    _phrase(rf"(?:ever )?since (?P<a>{MOMENT})", to_moment(Since)),
    _phrase(rf"since (?P<a>{HOUR}){ENDS}", to_moment(Since)),
    _phrase(rf"from (?P<a>{POINT}){ENDS}", to_moment(Since)),
    _phrase(
        rf"(?:starting )?from (?P<a>{MOMENT}) (?:on|onwards?|until now|till now|to now)", to_moment(Since)
    ),
    _phrase(rf"(?:before|until|till|up to|prior to) (?P<a>{MOMENT})", to_moment(Before)),
    _phrase(rf"after (?P<a>{MOMENT})", to_moment(After)),
    _phrase(
        rf"(?:(?:just|right|shortly|immediately)|(?:the )?(?P<n>{LENGTH})) (?P<side>before|after) (?P<a>{POINT})",
        _beside,
    ),
    # a point, a day, a part of a day
    _phrase(
        rf"(?:around|about|approximately|roughly|near|close to|at about|at around|circa) (?P<a>{MOMENT})",
        to_moment(Around),
    ),
    _phrase(rf"(?:at |on |during )?(?P<a>{AGO})", to_moment(At)),
    _phrase(rf"(?:at )?{_NO_NUMBER}(?P<a>{POINT})", to_moment(At)),
    _phrase(rf"at (?P<a>{HOUR}(?: {DAY})+)", to_moment(At)),
    _phrase(rf"(?:happen(?:ed|ing)?|going on|was it like) at (?P<a>{HOUR}){ENDS}", to_moment(At)),
    _phrase(rf"(?:during )?(?P<a>{DAY})", to_moment(At)),
)
