"""Time labels: how the time of a frame is written in prompts, answers and lists."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from core.ids import CameraId
from core.spans import Span

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def local_time(t_us: int, zone: ZoneInfo) -> datetime:
    """Return stream time ``t_us`` as an aware time in ``zone``, exact to the microsecond."""
    return (_EPOCH + timedelta(microseconds=t_us)).astimezone(zone)


def crosses_midnight(span: Span, zone: ZoneInfo) -> bool:
    """Return whether the span touches two days of ``zone``; labels then carry the date."""
    return local_time(span.start_us, zone).date() != local_time(span.end_us - 1, zone).date()


def time_label(
    t_us: int, zone: ZoneInfo, *, tenths: bool = False, dated: bool = False, camera: CameraId | None = None
) -> str:
    """Return ``[HH:MM:SS]``, with tenths, the date or the camera's id before it where asked; never rounded up."""
    at = local_time(t_us, zone)
    day = at.strftime("%Y-%m-%d ") if dated else ""
    fraction = f".{at.microsecond // 100_000}" if tenths else ""
    whose = f"{camera} " if camera else ""
    return f"[{whose}{day}{at:%H:%M:%S}{fraction}]"
