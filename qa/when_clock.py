"""From local wall time to instants: days when clocks change have times that do not exist, and times that come twice."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


class NoteKind(StrEnum):
    """Why a time in a question was not simply the time it says."""

    NONEXISTENT = "nonexistent"  # clocks went forward over it; the instant offered is as far behind the jump
    AMBIGUOUS = "ambiguous"  # clocks went back over it; both instants are covered
    ASSUMED = "assumed"  # half of the day or the day was not said; the most recent one is taken


@dataclass(frozen=True, slots=True)
class Note:
    """What to tell the asker about a time. ``said`` is the local time named; ``instants_us`` is what it became."""

    kind: NoteKind
    said: str
    instants_us: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instants:
    """The instants of one local time: the same twice, but for a time that comes twice."""

    first_us: int
    last_us: int
    note: Note | None = None


def local_now(now_us: int, zone: ZoneInfo) -> datetime:
    """Return service time as wall time of ``zone``, without zone."""
    return (_EPOCH + timedelta(microseconds=now_us)).astimezone(zone).replace(tzinfo=None)


def instants_of(local: datetime, zone: ZoneInfo) -> Instants:
    """Return the instants at which clocks in ``zone`` show ``local`` (a time without zone).

    A time that clocks skip is read with the offset before the jump, and so is shown after it by as much as the
    jump: 02:30 becomes 03:30. A time that comes twice gives both.
    """
    early = local.replace(tzinfo=zone, fold=0)
    late = local.replace(tzinfo=zone, fold=1)
    early_us, late_us = _us(early), _us(late)
    if early_us == late_us:
        return Instants(early_us, early_us)
    said = _said(local)
    if early_us > late_us:  # in a skipped hour the earlier offset gives the later instant
        return Instants(early_us, early_us, Note(NoteKind.NONEXISTENT, said, (early_us,)))
    return Instants(early_us, late_us, Note(NoteKind.AMBIGUOUS, said, (early_us, late_us)))


def day_start_us(day: date, zone: ZoneInfo) -> int:
    """Return the first instant of a local day."""
    return instants_of(datetime(day.year, day.month, day.day), zone).first_us  # noqa: DTZ001 - local on purpose


def _us(at: datetime) -> int:
    return (at.astimezone(UTC) - _EPOCH) // _US


def _said(local: datetime) -> str:
    return f"{local:%Y-%m-%d %H:%M:%S}" if local.second else f"{local:%Y-%m-%d %H:%M}"
