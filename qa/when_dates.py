"""Written dates ("3 March", "2025年3月5日") by dateparser, which is handed such text only, never a whole question."""

from datetime import date, datetime

from qa.answers import Language


def written_date(text: str, language: Language, *, today: date) -> date | None:
    """Return the day that ``text`` names, the most recent such day where it leaves the year out; None if none."""
    if language is Language.ZH and "年" not in text:  # which it cannot read without a year
        years = (today.year, today.year - 1)
        found = (written_date(f"{year}年{text}", language, today=today) for year in years)
        return next((day for day in found if day is not None and day <= today), None)
    return _parse(text, language, today)


def warm_up() -> None:
    """Load the date tables of every language, so that the first question with a date is as fast as the next."""
    today = date(2026, 1, 15)
    written_date("January 2", Language.EN, today=today)
    written_date("1月2日", Language.ZH, today=today)


def _parse(text: str, language: Language, today: date) -> date | None:
    import dateparser  # here, since loading it takes a tenth of a second and most questions name no date

    base = datetime(today.year, today.month, today.day, 23, 59)  # noqa: DTZ001 - a local day has no zone yet
    try:
        found = dateparser.parse(
            text,
            languages=[language.value],
            settings={
                "PREFER_DATES_FROM": "past",
                "RELATIVE_BASE": base,
                "REQUIRE_PARTS": ["day", "month"],
                "PARSERS": ["absolute-time"],
                "RETURN_AS_TIMEZONE_AWARE": False,
            },
        )
    except (ValueError, OverflowError):  # what it raises for some impossible dates
        return None
    if found is None or not 1970 < found.year < 9999:
        return None
    return found.date()
