"""One record of the window (gap, static span, epoch, track, scene change) as JSON, and back, checked."""

import json
import math
from dataclasses import fields
from typing import Any

from core.records import (
    Colour,
    Direction,
    EpochClock,
    EpochStart,
    Gap,
    GapReason,
    ObjectTrack,
    PathPoint,
    Record,
    SceneChange,
    SceneChangeKind,
    Side,
    StaticSpan,
)
from featcache.codec import ForgedValue

_LIMIT_BYTES = 64 * 1024
_PATH_LIMIT = 256


def encode_record(record: Record) -> bytes:
    """Return a record as JSON: ``[kind, field, field, ...]`` in the order of its declaration."""
    values = [getattr(record, field.name) for field in fields(record)]
    if isinstance(record, ObjectTrack):
        values[-1] = [[point.t_us, point.x, point.y] for point in record.path]
    return json.dumps([type(record).__name__, *values], separators=(",", ":")).encode()


def decode_record(value: bytes) -> Record:
    """Return the record of a value. Raises ForgedValue("record")."""
    try:
        if len(value) > _LIMIT_BYTES:
            raise ValueError("too long")
        kind, *parts = json.loads(value)
        return _decoded(kind, parts)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
        raise ForgedValue("record") from None


# Any: JSON is whatever somebody wrote; every part is checked for its type before it is used.
def _decoded(kind: Any, parts: list[Any]) -> Record:
    match kind, parts:
        case "Gap", [start, end, reason]:
            return Gap(_whole(start), None if end is None else _whole(end), GapReason(reason))
        case "StaticSpan", [start, end]:
            return StaticSpan(_whole(start), _whole(end))
        case "EpochStart", [start, epoch, clock, restarted]:
            return EpochStart(_whole(start), _whole(epoch), EpochClock(clock), _flag(restarted))
        case "SceneChange", [start, change]:
            return SceneChange(_whole(start), SceneChangeKind(change))
        case "ObjectTrack", [number, start, end, is_open, entered, left, direction, size, colour, path]:
            if len(path) > _PATH_LIMIT:
                raise ValueError("too many points")
            return ObjectTrack(
                number=_whole(number),
                start_us=_whole(start),
                end_us=_whole(end),
                open=_flag(is_open),
                entered=None if entered is None else Side(entered),
                left=None if left is None else Side(left),
                direction=None if direction is None else Direction(direction),
                size=_share(size),
                colour=None if colour is None else Colour(colour),
                path=tuple(PathPoint(_whole(t), _share(x), _share(y)) for t, x, y in path),
            )
        case _:
            raise ValueError("of no known kind")


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("not a whole number")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("not a yes or no")
    return value


def _share(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError("not a number")
    return float(value)
