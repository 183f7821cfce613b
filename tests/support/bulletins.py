"""Bulletins of cameras, as their owners publish them."""

from zoneinfo import ZoneInfo

from core.cameras import Camera, CameraState, Source, StateReport
from core.ids import CameraId, Incarnation
from featcache.bulletin import Bulletin
from tests.support.windows import FIRST_LIFE, GATE, NOON_US

UTC = ZoneInfo("UTC")


def bulletin_of(
    *,
    camera_id: CameraId = GATE,
    life: Incarnation = FIRST_LIFE,
    name: str = "Gate",
    zone: ZoneInfo = UTC,
    source: Source | None = None,
    report: StateReport | None = None,
    kept: tuple[tuple[str, int], ...] = (),
    frame_rate: float = 0.0,
    delay_s: float | None = None,
    encoded: bool = True,
    at_us: int = NOON_US,
) -> Bulletin:
    """Return what an owner tells of a camera; by default one that is online."""
    camera = Camera(camera_id, name, source or Source("rtsp://10.0.0.5/main"), zone, life, NOON_US)
    report = report or StateReport(CameraState.ONLINE, NOON_US)
    return Bulletin(camera, report, kept, frame_rate, delay_s, encoded, at_us)
