"""When a question is about: the span that its words name, in English or Chinese.

    "what happened between 2 and 3 pm?"  ─table─▶ Between(2, 3 pm)  ─resolve─▶ [14:00, 15:00) of the camera's zone

Each language has one table of phrases (``when_en``, ``when_zh``) over one range engine (``when_range``,
``when_resolve``). Nothing here reads a clock: "now" is an argument.
"""

from dataclasses import dataclass
from itertools import product
from zoneinfo import ZoneInfo

from core.spans import Span
from qa.answers import Language
from qa.when_clock import Note, local_now
from qa.when_dates import warm_up as _load_dates
from qa.when_en import EnglishTable
from qa.when_phrases import Table, find
from qa.when_resolve import resolve
from qa.when_zh import ChineseTable

__all__ = ["When", "read_when", "warm_up"]

READ_CHARS = 300
"""How much of a long text is searched for a time, at its start and again at its end; keeps reading it short."""

_TABLES: dict[Language, Table] = {Language.EN: EnglishTable(), Language.ZH: ChineseTable()}


@dataclass(frozen=True, slots=True)
class When:
    """What a question says about time.

    Attributes:
        span: Half-open, in stream time; None where the question names no time. It ends at now at the latest,
            but for a span that has not begun, which is left whole.
        text: The words that say it, as they stand in the question; empty without a span.
        note: A time that does not exist, comes twice, or was completed by assumption.
        point: The words name a point; the span is that point with its margins.
    """

    span: Span | None = None
    text: str = ""
    note: Note | None = None
    point: bool = False


def read_when(text: str, *, language: Language, now_us: int, zone: ZoneInfo) -> When:
    """Return the span that a question names in its words.

    In a Chinese question phrases of both tables are understood, the Chinese ones first.

    Args:
        now_us: Stream time that "now" means, µs.
        zone: The camera's zone, in which clock times and days are read.
    """
    today = local_now(now_us, zone).date()
    tables = [_TABLES[language]] if language is Language.EN else [_TABLES[language], _TABLES[Language.EN]]
    pieces = [text] if len(text) <= 2 * READ_CHARS else [text[:READ_CHARS], text[-READ_CHARS:]]
    for piece, table in product(pieces, tables):
        found = find(piece, table, today=today)
        resolved = None if found is None else resolve(found.said, now_us=now_us, zone=zone)
        if found is not None and resolved is not None:
            return When(resolved.span, found.text, resolved.note, resolved.point)
    return When()


def warm_up() -> None:
    """Load the date tables and compile the patterns of every language, so that the first question is as fast as the next."""
    _load_dates()
    for text, language in (
        ("between 2 and 3 pm yesterday", Language.EN),
        ("昨天下午三点到四点", Language.ZH),
    ):
        read_when(text, language=language, now_us=1_800_000_000_000_000, zone=ZoneInfo("UTC"))
