"""What this process tells others of its cameras: what the API shows of them, and nothing secret."""

from collections.abc import Iterator
from dataclasses import replace

from core.cameras import Source
from core.clock import Clock
from core.errors import ErrorKind, ServiceError
from featcache.bulletin import Bulletin
from livelens.cameras import Cameras
from web.present import shown_url


def bulletins_of(cameras: Cameras, clock: Clock) -> Iterator[Bulletin]:
    """Yield a bulletin of each camera, as it is now."""
    for camera in cameras.list():
        try:
            status, encoded = cameras.status(camera.id), cameras.road(camera.id).encoded
        except ServiceError as error:
            if error.kind is not ErrorKind.NOT_FOUND:  # removed meanwhile
                raise
            continue
        yield Bulletin(
            camera=replace(camera, source=shown_source(camera.source)),
            report=status.report,
            kept=status.kept,
            frame_rate=status.frame_rate,
            delay_s=status.delay_s,
            encoded=encoded,
            at_us=clock.now_us(),
        )


def shown_source(source: Source) -> Source:
    """Return a source as it may be shown: without its login, and with secrets in its query masked."""
    return replace(source, url=shown_url(source.url), credentials=None)
