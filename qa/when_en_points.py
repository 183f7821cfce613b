"""English end points: lengths, clock times, days and parts of a day, as patterns and as readers of what they match.

End points are anchored: a bare number is an hour only where the words around it leave no doubt, a month stands
with its day, "second" only as a length. So house numbers, bottles and "may I see the march?" are no times.
"""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from qa.answers import Language
from qa.when_dates import written_date
from qa.when_range import (
    DAY_US,
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    Clock,
    Day,
    Moment,
    Part,
    Precision,
    Weekday,
)

_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}
_VAGUE = {
    "a couple of": 2,
    "a couple": 2,
    "couple of": 2,
    "few": 5,
    "a few": 5,
    "several": 5,
    "a": 1,
    "an": 1,
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PARTS = {"morning": Part.MORNING, "afternoon": Part.AFTERNOON, "evening": Part.EVENING, "night": Part.NIGHT}
_UNITS = {"s": SECOND_US, "m": MINUTE_US, "h": HOUR_US, "d": DAY_US, "w": 7 * DAY_US}


def _either(words: dict[str, int]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


# ---------------------------------------------------------------- patterns, for lower-case text and any other

NUMBER = rf"(?:\d{{1,6}}(?:\.\d{{1,3}})?|{_either(_NUMBERS)})"
UNIT = r"(?:seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|days?|weeks?)"
LENGTH = (
    rf"(?:{NUMBER}(?: and a half)?[ -]?{UNIT}|\d{{1,6}}m"
    rf"|(?:{_either(_VAGUE)}) {UNIT}(?: and a half)?"
    r"|(?:half an|half a|a half|half) (?:hour|minute|day)"
    r"|(?:a )?quarter(?: of an)? hour)"
)
_MERIDIEM = r"(?:am|pm|a\.m\.|p\.m\.)(?![a-z])"
_COLON = rf"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d{{1,6}})?)?(?![\d:])(?: ?{_MERIDIEM})?"
_HOUR_WORD = "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HALF_PAST = rf"(?:a )?(?:half|quarter) (?:past|to) (?:\d{{1,2}}|{_HOUR_WORD})\b"
CLOCK = (
    rf"(?:\[?{_COLON}\]?|(?:1[0-2]|0?[1-9]|{_HOUR_WORD}) ?{_MERIDIEM}|(?:\d{{1,2}}|{_HOUR_WORD}) ?o'? ?clock"
    rf"|{_HALF_PAST}(?: ?{_MERIDIEM})?|noon|midday|midnight)"
)
HOUR = rf"(?:(?:2[0-4]|1\d|0?\d)(?![\d:.%])|{_HOUR_WORD})"
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    rf"(?:\d{{4}}-\d\d-\d\d"
    rf"|\d{{1,2}}(?:st|nd|rd|th) (?:of )?{_MONTH}(?:,? \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)(?:,? \d{{4}})?"
    rf"|\d{{1,2}} (?:of )?{_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}"
    rf"|(?<=\bon )\d{{1,2}} (?:of )?{_MONTH}|(?<=\bon ){_MONTH} \d{{1,2}}(?![\d:]))"
)
_PART = "(?:morning|afternoon|evening|night)"
_IN_PART = "(?:in the (?:morning|afternoon|evening)|at night)"
_WEEKDAY = rf"(?:{'|'.join(_WEEKDAYS)})"
DAY = (
    rf"(?:the day before yesterday|yesterday(?: {_PART})?|earlier today|today|tomorrow(?: {_PART})?|tonight|last night"
    rf"|this {_PART}|(?:on |last |this )?{_WEEKDAY}(?: {_PART})?|{_IN_PART}|(?:on )?(?:the )?{_DATE}(?: {_IN_PART})?)"
)
AGO = rf"(?:{LENGTH} (?:ago|earlier))"
ENDS = r"(?= *(?:$|[?!.,;:)]))"
"""Looks ahead for the end of a clause, where a bare number cannot count things."""

_INSTANT = r"(?:\d{4}-\d\d-\d\dt\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:z|[+-]\d\d:\d\d))"
POINT = (
    rf"(?:{_INSTANT}|(?:{DAY}(?:,? (?:at )?|t))?{CLOCK}(?:,? {DAY})*"  # 14:03; yesterday at 14:03; 2 pm on Monday
    rf"|{DAY},? (?:at )?{HOUR}(?= *(?:$|[?!.,;)]| (?:and|to|until|till) ))"  # yesterday at 3
    rf"|{HOUR}(?: {DAY})+"  # 3 yesterday; 8 in the morning today
    rf"|{AGO})"
)
MOMENT = rf"(?:{POINT}|{DAY}|now)"


# ---------------------------------------------------------------- readers


def length_us(text: str) -> tuple[int, int]:
    """Return a length said in words, and its unit, both in µs; (0, 0) where it is none."""
    text = text.lower().strip()
    if "quarter" in text:
        return 15 * MINUTE_US, MINUTE_US
    if half := re.fullmatch(r"(?:half an?|a half|half) (\w+)", text):
        return unit_us(half[1]) // 2, MINUTE_US
    found = re.fullmatch(rf"({NUMBER}|{_either(_VAGUE)})( and a half)?[ -]?({UNIT}|m)( and a half)?", text)
    if found is None:
        return 0, 0
    unit = unit_us(found[3])
    amount = float(_VAGUE[found[1]]) if found[1] in _VAGUE else number(found[1])
    return round((amount + (0.5 if found[2] or found[4] else 0)) * unit), unit


def number(text: str) -> float:
    """Return a number in figures or words."""
    word = text.strip().lower()
    return float(_NUMBERS[word]) if word in _NUMBERS else float(word)


def unit_us(text: str) -> int:
    """Return the µs of a unit of time."""
    return _UNITS[text.strip(" -").lower()[0]]


def read_moment(text: str, today: date) -> Moment | None:
    """Return one end point as the patterns here match it; None where it is none after all, such as 31 June."""
    text = text.lower().strip()
    if text == "now":
        return Moment(ago_us=0, unit_us=SECOND_US)
    if ago := re.fullmatch(rf"({LENGTH}) (?:ago|earlier)", text):
        us, unit = length_us(ago[1])
        return Moment(ago_us=us, unit_us=unit) if us else None
    if re.fullmatch(_INSTANT, text):
        return _instant(text)
    rest = re.sub(rf"\b{_DATE}(?=t?\b)|\b{DAY}\b", " ", text)
    clock = _clock(rest)
    if clock is None and re.search(r"\d|noon|midday|midnight", rest):
        return None
    part = _part(text)
    if written := re.search(rf"\b{_DATE}(?=t?\b|t\d)", text):
        day = written_date(written[0], Language.EN, today=today)
        return None if day is None else Moment(clock=clock, day=day, part=part)
    day_said = _day(text)
    if clock is None and day_said is None and part is None:
        return None
    return Moment(clock=clock, day=day_said, part=part)


def _instant(text: str) -> Moment | None:
    try:
        at = datetime.fromisoformat(text.upper())
        t_us = (at.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
    return Moment(t_us=t_us) if 0 <= t_us < 253_370_764_800_000_000 else None


def _day(text: str) -> Day | Weekday | None:
    if weekday := re.search(_WEEKDAY, text):
        return Weekday(_WEEKDAYS.index(weekday[0]), f"last {weekday[0]}" in text)
    if "day before yesterday" in text:
        return Day(-2)
    if "yesterday" in text or "last night" in text:
        return Day(-1)
    if "tomorrow" in text:
        return Day(1)
    if re.search(rf"today|tonight|this {_PART}", text):
        return Day(0)
    return None


def _part(text: str) -> Part | None:
    if "tonight" in text:
        return Part.NIGHT
    found = re.search(_PART, text)
    return _PARTS[found[0]] if found else None


def _clock(text: str) -> Clock | None:
    """Read a clock time. 1 to 12 without am, pm, seconds or a leading zero may lie in either half of the day."""
    if "midnight" in text:
        return Clock(0, precision=Precision.HOUR)
    if "noon" in text or "midday" in text:
        return Clock(12, precision=Precision.HOUR)
    half = re.search(r"(?<![a-z])([ap])\.?m\b", text)
    if colon := re.search(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?", text):
        precision = Precision.MINUTE if colon[3] is None else Precision.SECOND
        said = Clock(
            int(colon[1]), int(colon[2]), int(colon[3] or 0), int((colon[4] or "0").ljust(6, "0")), precision
        )
        return _in_half(said, half, exact=colon[1].startswith("0") or colon[3] is not None)
    if past := re.search(rf"(half|quarter) (past|to) (\d{{1,2}}|{_HOUR_WORD})\b", text):
        minute = 30 if past[1] == "half" else 15 if past[2] == "past" else 45
        hour = int(number(past[3])) - (past[2] == "to" or 0)
        return _in_half(Clock(hour % 12 or 12, minute), half, exact=False)
    if bare := re.search(rf"(\d{{1,2}}|\b{_HOUR_WORD}\b)", text):
        hour = int(number(bare[1]))
        return _in_half(Clock(hour, precision=Precision.HOUR), half, exact=bare[1].startswith("0"))
    return None


def _in_half(said: Clock, half: re.Match[str] | None, *, exact: bool) -> Clock | None:
    if half is not None and 1 <= said.hour <= 12:
        said = replace(said, hour=said.hour % 12 + (12 if half[1] == "p" else 0))
    elif (said.hour, said.minute, said.second) == (24, 0, 0):
        said = replace(said, hour=0)
    elif 1 <= said.hour <= 12 and not exact:
        said = replace(said, either_half=True)
    return said if said.valid() else None
