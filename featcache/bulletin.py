"""What an owner tells of a camera beside its window, so that others can show it: as JSON, and back, checked.

Nothing secret is in it: a source's login is never written, and whoever makes a bulletin masks its address.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from core.cameras import Camera, CameraState, Source, StateReport, Transport
from core.ids import CameraId, Incarnation
from core.records import EpochClock
from featcache.codec import ForgedValue

_LIMIT_BYTES = 16 * 1024
_TEXT_LIMIT = 4096
_COUNTS_LIMIT = 64
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Bulletin:
    """One camera as its owner sees it.

    Attributes:
        camera: Its source has no login.
        kept: Frames kept since the owner's process began, by reason.
        frame_rate: Frames per second over the last few seconds.
        delay_s: How long the newest sample took into the window; None before the first.
        encoded: The newest frame has features, or there is none yet.
        at_us: The owner's service time when it said so, µs.
    """

    camera: Camera
    report: StateReport
    kept: tuple[tuple[str, int], ...]
    frame_rate: float
    delay_s: float | None
    encoded: bool
    at_us: int


def encode_bulletin(bulletin: Bulletin) -> bytes:
    """Return a bulletin as JSON."""
    camera, report = bulletin.camera, bulletin.report
    fields = {
        "format": _FORMAT,
        "at": bulletin.at_us,
        "camera": {
            "name": camera.name,
            "zone": camera.zone.key,
            "created": camera.created_us,
            "enabled": camera.enabled,
            "url": camera.source.url,
            "transport": camera.source.transport,
            "loop": camera.source.loop,
        },
        "state": {
            "state": report.state,
            "since": report.since_us,
            "code": report.code,
            "message": report.message,
            "clock": report.clock,
            "epoch": report.epoch,
            "reconnects": report.reconnects,
            "frames": report.frames_total,
            "skipped": dict(report.skipped),
            "last": report.last_t_us,
            "width": report.width_px,
            "height": report.height_px,
            "codec": report.codec,
        },
        "kept": dict(bulletin.kept),
        "rate": bulletin.frame_rate,
        "delay": bulletin.delay_s,
        "encoded": bulletin.encoded,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_bulletin(value: bytes, *, camera_id: CameraId, incarnation: Incarnation) -> Bulletin:
    """Return the bulletin of a value. Raises ForgedValue("bulletin")."""
    try:
        if len(value) > _LIMIT_BYTES:
            raise ValueError("too long")
        fields = json.loads(value)
        if fields["format"] != _FORMAT:
            raise ValueError("of another format")
        return Bulletin(
            camera=_camera(fields["camera"], camera_id, incarnation),
            report=_report(fields["state"]),
            kept=_counts(fields["kept"]),
            frame_rate=_number(fields["rate"]),
            delay_s=None if fields["delay"] is None else _number(fields["delay"]),
            encoded=_flag(fields["encoded"]),
            at_us=_whole(fields["at"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OSError, OverflowError, RecursionError):
        raise ForgedValue("bulletin") from None


# Any below: JSON is whatever somebody wrote; every part is checked for its type before it is used.


def _camera(fields: Any, camera_id: CameraId, incarnation: Incarnation) -> Camera:
    source = Source(
        _text(fields["url"]), transport=Transport(fields["transport"]), loop=_flag(fields["loop"])
    )
    return Camera(
        id=camera_id,
        name=_text(fields["name"]),
        source=source,
        zone=ZoneInfo(_text(fields["zone"])),
        incarnation=incarnation,
        created_us=_whole(fields["created"]),
        enabled=_flag(fields["enabled"]),
    )


def _report(fields: Any) -> StateReport:
    return StateReport(
        state=CameraState(fields["state"]),
        since_us=_whole(fields["since"]),
        code=_maybe_text(fields["code"]),
        message=_maybe_text(fields["message"]),
        clock=None if fields["clock"] is None else EpochClock(fields["clock"]),
        epoch=_whole(fields["epoch"]),
        reconnects=_whole(fields["reconnects"]),
        frames_total=_whole(fields["frames"]),
        skipped=_counts(fields["skipped"]),
        last_t_us=None if fields["last"] is None else _whole(fields["last"]),
        width_px=_whole(fields["width"]),
        height_px=_whole(fields["height"]),
        codec=_maybe_text(fields["codec"]),
    )


def _counts(fields: Any) -> tuple[tuple[str, int], ...]:
    if not isinstance(fields, Mapping) or len(fields) > _COUNTS_LIMIT:
        raise TypeError("not counts by reason")
    return tuple((_text(name), _whole(count)) for name, count in fields.items())


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _TEXT_LIMIT:
        raise TypeError("not a text, or too long")
    return value


def _maybe_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 60:
        raise TypeError("not a whole number, or too large")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise TypeError("not a number")
    return float(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("not a yes or no")
    return value
