"""Chinese end points: lengths, clock times, days and parts of a day, as patterns and as readers of what they match.

"点" also means "a bit" and "point", so that an hour without minutes or a part of the day counts as a time only
from two on, and not before words such as 建议.
"""

import re
from dataclasses import replace
from datetime import date

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

_DIGITS = {
    "〇": 0,
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_VAGUE = {"几": 5, "好几": 5}
_PARTS = {
    "凌晨": Part.DAWN,
    "清晨": Part.MORNING,
    "早上": Part.MORNING,
    "早晨": Part.MORNING,
    "上午": Part.MORNING,
    "今早": Part.MORNING,
    "中午": Part.MIDDAY,
    "下午": Part.AFTERNOON,
    "傍晚": Part.EVENING,
    "晚上": Part.NIGHT,
    "今晚": Part.NIGHT,
    "昨晚": Part.NIGHT,
    "昨夜": Part.NIGHT,
    "夜里": Part.NIGHT,
    "夜间": Part.NIGHT,
    "半夜": Part.NIGHT,
    "深夜": Part.NIGHT,
}
_DAYS = {
    "今天": 0,
    "今日": 0,
    "今早": 0,
    "今晚": 0,
    "昨天": -1,
    "昨日": -1,
    "昨晚": -1,
    "昨夜": -1,
    "大前天": -3,
    "前天": -2,
    "明天": 1,
}
_UNITS = {
    "秒": SECOND_US,
    "分": MINUTE_US,
    "小": HOUR_US,
    "钟": HOUR_US,
    "天": DAY_US,
    "刻": 15 * MINUTE_US,
} | {
    "s": SECOND_US,
    "m": MINUTE_US,
    "h": HOUR_US,
}

# ---------------------------------------------------------------- patterns

NUMBER = r"(?:\d{1,6}(?:\.\d{1,3})?|[〇零一二两三四五六七八九十百]{1,6})"
UNIT = r"(?:秒钟|秒|分钟|分|个?小时|个?钟头|刻钟|天|(?:s|sec|min|h)(?![a-zA-Z]))"
LENGTH = (
    rf"(?:(?:{NUMBER}|好?几)(?:个半| 个半)(?:小时|钟头)|半个?(?:小时|钟头)|半分钟|半天"
    rf"|(?:{NUMBER}|好?几) ?{UNIT}半?)"
)
_HOUR = r"(?:[01]?\d|2[0-4]|十[一二三四五六七八九]?|二十[一二三四]?|[〇零一二两三四五六七八九])"
_SIXTY = r"(?:[0-5]?\d|[二三四五]?十[一二三四五六七八九]?|[零〇]?[一二三四五六七八九])"
_COLON = r"(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?![\d:])"
_MINUTES = rf"(?:半|[一三]刻|整|{_SIXTY}分(?!钟[前之以内])(?:{_SIXTY}秒)?|[0-5]\d(?!\d)|(?:[二三四五]?十[一二三四五六七八九]?|[零〇][一二三四五六七八九]))"
_FULL = rf"(?:{_HOUR}(?:点钟?|时){_MINUTES}|{_HOUR}点钟)"
_NOT_HOURS = (
    r"(?![一二三四五六七八九\d]|建议|意见|要求|不同|区别|原因|理由|问题|内容|看法|经验|水|儿|以上|以下)"
)
_BARE = rf"(?<![有快慢多少早晚差这那第几大小高低近远好轻重.\d])(?!一点){_HOUR}点{_NOT_HOURS}"
ANY_HOUR = rf"{_HOUR}点(?!{_MINUTES})"
"""An hour as the end of a range, where 一点 is one o'clock."""

_PART = rf"(?:{'|'.join(_PARTS)})"
_WEEKDAY = r"(?:上?(?:周|星期|礼拜)[一二三四五六日天])"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|(?:\d{4}年)?(?:\d{1,2}|十[一二]?|[一二三四五六七八九])月"
    r"(?:\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号])"
)
_NAMED = rf"(?:{'|'.join(_DAYS)}|{_WEEKDAY}|{_DATE})"
DAY = rf"(?:(?:{_NAMED}的?){_PART}?|{_PART})"
AGO = rf"(?:{LENGTH} ?(?:之前|以前|前))"
POINT = (
    rf"(?:(?:{DAY}的?[ T]?)?\[?(?:{_COLON}|{_FULL})\]?"  # 14:03; 下午三点半; 昨天14点03分
    rf"|{DAY}的?{_HOUR}点|{_BARE}"  # 下午三点; 三点
    rf"|{_NAMED}?的?正午|{_NAMED}?的?午夜|{AGO})"
)
MOMENT = rf"(?:{POINT}|{DAY}|现在|此刻|目前)"


# ---------------------------------------------------------------- readers


def number(text: str) -> float:
    """Return a number in figures or characters, below a thousand: 30, 三十, 一百二十."""
    if text in _VAGUE:
        return _VAGUE[text]
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    total = 0
    for unit, factor in (("百", 100), ("十", 10)):
        if unit in text:
            before, text = text.split(unit, 1)
            total += factor * (_DIGITS.get(before.strip("零〇"), 1))
    digits = [_DIGITS[digit] for digit in text if digit in _DIGITS]
    if total == 0:
        return float(int("".join(map(str, digits)) or "0"))
    return float(total + (digits[-1] if digits else 0))


def length_us(text: str) -> tuple[int, int]:
    """Return a length said in words, and its unit, both in µs; (0, 0) where it is none."""
    text = text.replace(" ", "")
    if half := re.fullmatch(r"半个?(小|钟|分|天).*", text):
        return _UNITS[half[1]] // 2, MINUTE_US if half[1] != "分" else SECOND_US
    found = re.fullmatch(rf"({NUMBER}|好?几)(个半|个)?(秒|分|小|钟|刻|天|s|m|h)\S*?(半)?", text)
    if found is None:
        return 0, 0
    unit = _UNITS[found[3]]
    amount = number(found[1]) + (0.5 if found[2] == "个半" or found[4] else 0)
    return round(amount * unit), min(unit, HOUR_US) if found[3] != "刻" else MINUTE_US


def unit_us(text: str) -> int:
    """Return the µs of a unit of time."""
    return _UNITS[text.lstrip("个 ")[0]]


def read_moment(text: str, today: date) -> Moment | None:
    """Return one end point as the patterns here match it; None where it is none after all."""
    text = text.strip()
    if text in ("现在", "此刻", "目前"):
        return Moment(ago_us=0, unit_us=SECOND_US)
    if ago := re.fullmatch(rf"({LENGTH}) ?(?:之前|以前|前)", text):
        us, unit = length_us(ago[1])
        return Moment(ago_us=us, unit_us=unit) if us else None
    part_said = re.search(_PART, text)
    part = _PARTS[part_said[0]] if part_said else None
    rest = re.sub(rf"{_DATE}|{_WEEKDAY}", " ", text)
    clock = _clock(rest)
    if clock is None and re.search(r"\d|点", rest):
        return None
    day: Day | Weekday | date | None = _day(text)
    if written := re.search(_DATE, text):
        day = written_date(_plain_date(written[0]), Language.ZH, today=today)
        if day is None:
            return None
    if clock is None and day is None and part is None:
        return None
    return Moment(clock=clock, day=day, part=part)


def _day(text: str) -> Day | Weekday | None:
    if weekday := re.search(_WEEKDAY, text):
        at = "一二三四五六日天".index(weekday[0][-1])
        return Weekday(min(at, 6), weekday[0].startswith("上"))
    named = re.search("|".join(_DAYS), text)
    return Day(_DAYS[named[0]]) if named else None


def _plain_date(text: str) -> str:
    """Return a date with figures for characters and 日 for 号."""
    plain = re.sub(r"[一二三四五六七八九十]+", lambda part: f"{number(part[0]):.0f}", text)
    return plain.replace("号", "日")


def _clock(text: str) -> Clock | None:
    if "午夜" in text:
        return Clock(0, precision=Precision.HOUR)
    if "正午" in text:
        return Clock(12, precision=Precision.HOUR)
    if colon := re.search(r"(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?", text):
        precision = Precision.MINUTE if colon[3] is None else Precision.SECOND
        said = Clock(
            int(colon[1]), int(colon[2]), int(colon[3] or 0), int((colon[4] or "0").ljust(6, "0")), precision
        )
        return _in_half(said, exact=colon[1].startswith("0") or colon[3] is not None)
    found = re.search(rf"({_HOUR})(?:点钟?|时)({_MINUTES})?", text)
    if found is None:
        return None
    hour, minutes = int(number(found[1])), found[2] or ""
    if not minutes or minutes == "整":
        return _in_half(Clock(hour, precision=Precision.HOUR), exact=found[1].startswith("0"))
    if minutes == "半":
        minute, second = 30, None
    elif minutes.endswith("刻"):
        minute, second = 15 * int(number(minutes[0])), None
    else:
        pieces = [int(number(piece)) for piece in re.split("[分秒]", minutes) if piece]
        minute, second = pieces[0], pieces[1] if len(pieces) > 1 else None
    precision = Precision.MINUTE if second is None else Precision.SECOND
    return _in_half(Clock(hour, minute, second or 0, precision=precision), exact=second is not None)


def _in_half(said: Clock, *, exact: bool) -> Clock | None:
    if (said.hour, said.minute, said.second) == (24, 0, 0):
        said = replace(said, hour=0)
    elif 1 <= said.hour <= 12 and not exact:
        said = replace(said, either_half=True)
    return said if said.valid() else None
