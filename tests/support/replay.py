"""Real clips, played through the sampler at their own frame times."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from core.frames import Frame, Sample
from core.ids import CameraId
from core.records import ObjectTrack, Record, SceneChange, StaticSpan
from sampler import Sampler

MEDIA = Path(__file__).parents[1] / "media"
CAMERA = CameraId("clip")
START_US = 1_700_000_000_000_000
CARS = ("car-detection-1.mp4", "car-detection-2.mp4", "car-detection-3.mp4")


class DecodedPicture:
    """A ``core.frames.Picture`` over a decoded frame."""

    def __init__(self, frame: av.VideoFrame) -> None:
        self._frame = frame

    @property
    def width_px(self) -> int:
        return int(self._frame.width)

    @property
    def height_px(self) -> int:
        return int(self._frame.height)

    def luma(self) -> NDArray[np.uint8]:
        plane = self._frame.planes[0]
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        return rows[:, : plane.width]

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        return self._frame.reformat(width_px, height_px, "rgb24").to_ndarray()


def decoded(source: str | io.BytesIO) -> Iterator[tuple[float, av.VideoFrame]]:
    """Yield each frame with its time in seconds from the first one."""
    with av.open(str(MEDIA / source) if isinstance(source, str) else source) as container:
        stream = container.streams.video[0]
        first: float | None = None
        for frame in container.decode(stream):
            at = float(frame.pts * stream.time_base)
            first = at if first is None else first
            yield at - first, frame


def encoded_again(name: str, *, scale: float = 1.0, crf: int = 30, gop: int = 25) -> io.BytesIO:
    """Return the clip, scaled and encoded again by x264 at ``crf`` with a keyframe every ``gop`` frames."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = None
        for at, frame in decoded(name):
            width, height = (int(side * scale) // 2 * 2 for side in (frame.width, frame.height))
            if stream is None:
                stream = container.add_stream("libx264", rate=25)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.time_base = Fraction(1, 90_000)
                stream.codec_context.time_base = Fraction(1, 90_000)
                stream.options = {"crf": str(crf), "preset": "veryfast", "g": str(gop), "threads": "1"}
            again = frame.reformat(width, height, "yuv420p")
            again.pts, again.time_base = round(at * 90_000), Fraction(1, 90_000)
            container.mux(stream.encode(again))
        assert stream is not None
        container.mux(stream.encode(None))
    out.seek(0)
    return out


@dataclass(frozen=True, slots=True)
class Played:
    """All that came out, records by key in their last state."""

    samples: tuple[Sample, ...]
    records: tuple[Record, ...]
    end_us: int

    @property
    def tracks(self) -> tuple[ObjectTrack, ...]:
        return tuple(r for r in self.records if isinstance(r, ObjectTrack))

    @property
    def stills(self) -> tuple[StaticSpan, ...]:
        return tuple(r for r in self.records if isinstance(r, StaticSpan))

    @property
    def changes(self) -> tuple[SceneChange, ...]:
        return tuple(r for r in self.records if isinstance(r, SceneChange))


def frames_of(
    sources: Iterable[str | io.BytesIO],
    *,
    skip_s: float = 0.0,
    until_s: float = 1e9,
) -> Iterator[Frame]:
    """Yield the frames of several clips in a row, beginning ``skip_s`` into them."""
    offset, step = 0.0, 0.04
    for source in sources:
        if isinstance(source, io.BytesIO):
            source.seek(0)
        last = 0.0
        for at, frame in decoded(source):
            step, last = (at - last if at > last else step), at
            t = offset + at
            if skip_s <= t < until_s:
                yield Frame(CAMERA, START_US + round(t * 1e6), 0, DecodedPicture(frame))
        offset += last + step


def play(frames: Iterable[Frame], sampler: Sampler | None = None) -> Played:
    """Push all frames, then end the epoch."""
    sampler = sampler or Sampler()
    samples: list[Sample] = []
    records: dict[str, Record] = {}
    end_us = START_US
    for frame in frames:
        pushed = sampler.push(frame)
        samples += [pushed.sample] if pushed.sample is not None else []
        records |= {record.key: record for record in pushed.records}
        end_us = frame.t_us
    records |= {record.key: record for record in sampler.finish()}
    return Played(tuple(samples), tuple(sorted(records.values(), key=lambda r: r.start_us)), end_us)
