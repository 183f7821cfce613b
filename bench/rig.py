"""The real parts that benchmarks need: clips, an RTSP server, the service in a process of its own."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from tests.support.rtsp_server import Mount, RtspServer, ServerFailed
from tests.support.service import LivelensProcess, ServiceFailed

CACHE = Path(__file__).resolve().parents[1] / "var" / "bench"
RATE = 25


class PartMissing(Exception):
    """A real part is not there, so nothing can be measured."""


Painter = Callable[[NDArray[np.uint8], int], None]
"""Paints frame ``n`` over a picture of the quiet room, shape (height, width, 3), in place."""


def clip(name: str, size: tuple[int, int], seconds: float, paint: Painter, *, gop: int = 50) -> Path:
    """Return an H.264 clip of a room with sensor noise at 25 frames a second; made once, then kept."""
    path = CACHE / f"{name}-{size[0]}x{size[1]}-{seconds:g}s.mp4"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part.mp4")
    width, height = size
    rng = np.random.default_rng(1)
    room = np.empty((height, width, 3), np.int16)
    rows, columns = np.mgrid[0:height, 0:width]
    for channel, phase in enumerate((0.0, 2.0, 4.0)):
        room[..., channel] = 110 + 40 * rows / height + 15 * np.sin(columns / 37.0 + phase)
    noise = [rng.integers(-3, 4, room.shape, dtype=np.int16) for _ in range(4)]
    with av.open(str(draft), "w") as out:
        stream = out.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {
            "preset": "veryfast",
            "crf": "24",
            "g": str(gop),
            "bf": "0",
            "x264-params": "threads=2:sliced-threads=0:slices=1:scenecut=0",
        }
        for number in range(round(seconds * RATE)):
            picture = np.clip(room + noise[number % 4], 0, 255).astype(np.uint8)
            paint(picture, number)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    draft.rename(path)
    return path


def nothing(_picture: NDArray[np.uint8], _number: int) -> None:
    """Leave the room quiet."""


def many_boxes(picture: NDArray[np.uint8], number: int) -> None:
    """Fill the room with six textured boxes that never stop moving."""
    height, width = picture.shape[:2]
    tall, wide = height // 4, width // 6
    texture = ((np.arange(wide) // 6 % 2) * 120 + 60).astype(np.uint8)
    for box in range(6):
        left = (number * (7 + 3 * box) + box * width // 6) % (width - wide)
        top = (box * 97 + number * (box - 2)) % (height - tall)
        picture[top : top + tall, left : left + wide, box % 3] = texture


@asynccontextmanager
async def cameras(mounts: Mapping[str, Mount]) -> AsyncIterator[RtspServer]:
    """Run the RTSP server. Raises PartMissing."""
    try:
        async with RtspServer(mounts) as server:
            yield server
    except (ServerFailed, FileNotFoundError) as error:
        raise PartMissing(f"RTSP server: {error}") from error


@asynccontextmanager
async def livelens(
    words: Sequence[str], settings: Mapping[str, str] | None = None
) -> AsyncIterator[LivelensProcess]:
    """Run the service. Raises PartMissing where it does not start."""
    service = LivelensProcess(words, settings=settings)
    try:
        await service.start()
    except ServiceFailed as error:
        raise PartMissing(f"livelens: {error}") from error
    try:
        yield service
    finally:
        await service.stop()
