"""Roads over real clips, for tests of the root: real ingest, sampler and window, no web."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

from core.cameras import Camera, Source
from core.clock import ServiceClock
from core.ids import CameraId, Incarnation
from core.meter import TallyMeter
from featcache import MemoryPool
from featcache import Settings as PoolSettings
from ingest import IngestSettings
from livelens.road import RoadParts
from sampler import SamplerSettings
from tests.support.clips import Shot, constant_rate, write_clip

UTC = ZoneInfo("UTC")
QUICK = IngestSettings(connect_timeout_s=2, read_timeout_s=1, first_pause_s=0.1, report_every_s=0.1)


def moving_clip(folder: Path, *, seconds: float = 2.0) -> Path:
    """Write a short clip in which a box moves all the time."""
    return write_clip(folder / "moving.mp4", [Shot(constant_rate(int(seconds * 10)))])


def camera_of(source: Source, *, camera_id: str = "gate", enabled: bool = True) -> Camera:
    """Return a camera with this source."""
    return Camera(CameraId(camera_id), camera_id, source, UTC, Incarnation("life1"), 0, enabled)


@contextmanager
def road_parts() -> Iterator[RoadParts]:
    """Yield parts with a memory window and a tally for a meter."""
    with ThreadPoolExecutor(1, thread_name_prefix="pictures") as executor:
        meter = TallyMeter()
        yield RoadParts(
            MemoryPool(PoolSettings(), meter=meter),
            ServiceClock(),
            meter,
            executor,
            QUICK,
            SamplerSettings(),
            None,
        )
