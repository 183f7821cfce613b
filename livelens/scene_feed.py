"""Generated scenes as cameras: ``scene:7`` is drawn, encoded as H.264 and read by ``ingest`` like any camera.

    wait until frame n is due ──▶ LiveVideo.packet(n) ──▶ IVF ──▶ ingest's reader

The reader's own thread draws: between two frames it has nothing else to do, and a feed that is read rather than
run has no queue that could overflow and no thread that could be left. Each frame is made ahead of its time and
given out on it, so stream time less scene time is the same for all frames, within milliseconds. IVF frames each
picture with a 64-bit time; MPEG-TS would hold every picture until the next one begins.
"""

import logging
import re
import struct

from core.cameras import Source
from core.clock import Clock
from core.ids import CameraId
from ingest import SourceRefused, Wait
from livelens.addresses import SCENE
from models.builtin.scenes import LiveVideo
from models.builtin.seeds import BENCH

_log = logging.getLogger(__name__)

SCENE_FPS = 10
_ADDRESS = re.compile(rf"{SCENE}:(0|[1-9][0-9]{{0,8}})")
_SECOND_US = 1_000_000


def scene_seed(source: Source) -> int:
    """Return the seed of the world that ``scene:N`` shows: one that training refuses. Raises SourceRefused."""
    found = _ADDRESS.fullmatch(source.url)
    if found is None:
        raise SourceRefused(f"a generated scene is {SCENE}: and a whole number from 0 to 999999999")
    return BENCH + int(found[1])


class SceneFeeds:
    """Implements ``ingest.FeedKind``. Each opening of a scene begins it anew."""

    container = "ivf"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def check(self, source: Source) -> None:
        """Return where the address names a scene. Raises SourceRefused."""
        scene_seed(source)

    def open(self, source: Source, *, camera_id: CameraId | None, wait: Wait) -> "SceneFeed":
        """Begin the scene now, and log when: whoever knows seed and beginning knows what is shown."""
        seed = scene_seed(source)
        feed = SceneFeed(LiveVideo(seed, fps=SCENE_FPS), clock=self._clock, wait=wait)
        if camera_id is not None:
            began = {"camera_id": camera_id, "seed": seed, "began_us": feed.began_us}
            _log.info("a generated scene began", extra=began)
        return feed


class SceneFeed:
    """Implements ``ingest.Feed``: one scene from its beginning on, in real time.

    Where frames cannot be made in time, those that are past are left out; the others keep their true times.
    """

    def __init__(self, video: LiveVideo, *, clock: Clock, wait: Wait) -> None:
        self._video, self._clock, self._wait = video, clock, wait
        self._frame_us = _SECOND_US // video.fps
        self._ready = _ivf_header(video) + _ivf_frame(0, video.packet(0))
        self._next = 1
        self._began_mono_us = clock.mono_us()
        self.began_us = clock.now_us()
        """Service time of the scene's time 0."""

    def read(self, size: int) -> bytes:
        """Return the bytes of at most one frame, once it is due; none when told to stop."""
        if not self._ready:
            self._ready = self._frame()
        given, self._ready = self._ready[:size], self._ready[size:]
        return given

    def _frame(self) -> bytes:
        """Make the next frame, or the newest one due where more than that are, and return it when it is due."""
        number = max(self._next, self._age_us() // self._frame_us)
        made = _ivf_frame(number, self._video.packet(number))
        self._next = number + 1
        stopped = self._wait((number * self._frame_us - self._age_us()) / _SECOND_US)
        return b"" if stopped else made

    def _age_us(self) -> int:
        return self._clock.mono_us() - self._began_mono_us


def _ivf_header(video: LiveVideo) -> bytes:
    """Return the 32 bytes before the first frame; a tick is one frame's time."""
    size = (video.kind.width_px, video.kind.height_px)
    return struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"H264", *size, video.fps, 1, 0, 0)


def _ivf_frame(number: int, data: bytes) -> bytes:
    return struct.pack("<IQ", len(data), number) + data
