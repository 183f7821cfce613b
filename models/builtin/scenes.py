"""Scenes as video: frames with their truth, files of them, an endless one, and what H.264 makes of them.

    python -m models.builtin.scenes --seed 7 --seconds 60 --fps 10 --out clip.mp4 --truth clip.json

The only module of this package that touches PyAV.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import av
import numpy as np
from av.video.reformatter import ColorRange, Interpolation
from numpy.typing import NDArray

from models.builtin.draw import Painter, Pixels
from models.builtin.things import PICTURE_SIZES, Ground
from models.builtin.truth import SceneTruth, write_truth
from models.builtin.world import SECOND_US, World

CRF_RANGE = (23, 35)
"""How strongly scenes are compressed, from clean to visibly blocky."""

_LOOK_AHEAD_US = 10 * SECOND_US


@dataclass(frozen=True, slots=True)
class SceneKind:
    """What a seed stands for: the picture's size, its ground, and how strongly it is compressed."""

    width_px: int
    height_px: int
    ground: Ground
    crf: int


class DrawnFrame(NamedTuple):
    """One frame of a scene: its time from the scene's start, and its pixels (height, width, 3)."""

    t_us: int
    pixels: Pixels


def kind_of(seed: int, *, size: tuple[int, int] | None = None) -> SceneKind:
    """Return the kind of scene that ``seed`` gives; ``size`` fixes the picture's size."""
    random = Random(f"kind {seed}")
    width, height = random.choice(PICTURE_SIZES)
    if size is not None:
        width, height = size
    return SceneKind(width, height, random.choice(list(Ground)), random.randint(*CRF_RANGE))


def scene_truth(seed: int, duration_us: int, *, kind: SceneKind | None = None) -> SceneTruth:
    """Return what happens in the scene of a seed."""
    kind = kind or kind_of(seed)
    world = World(seed, width_px=kind.width_px, height_px=kind.height_px, ground=kind.ground)
    return world.truth(duration_us)


def draw(seed: int, truth: SceneTruth, times_us: Iterable[int]) -> Iterator[DrawnFrame]:
    """Draw a scene at the given times."""
    painter = Painter(seed, width_px=truth.width_px, height_px=truth.height_px, ground=truth.ground)
    for t_us in times_us:
        yield DrawnFrame(t_us, painter.paint(truth, t_us))


def frame_times(duration_us: int, fps: int) -> Iterator[int]:
    """Return the times of the frames of ``[0, duration_us)`` at an even rate."""
    return (number * SECOND_US // fps for number in range(-(-duration_us * fps // SECOND_US)))


class LiveScene:
    """A scene without end, for a camera: frames in order, and the truth of what is held in mind.

    Memory stays small: what left long ago is forgotten.
    """

    def __init__(
        self, seed: int, *, fps: int, kind: SceneKind | None = None, keep_us: int = 600 * SECOND_US
    ) -> None:
        self.kind = kind or kind_of(seed)
        size = {"width_px": self.kind.width_px, "height_px": self.kind.height_px, "ground": self.kind.ground}
        self._world = World(seed, **size)  # type: ignore[arg-type]  # the three are of three types
        self._painter = Painter(seed, **size)  # type: ignore[arg-type]
        self._fps, self._keep_us = fps, keep_us
        self._truth = self.truth(0)

    def __iter__(self) -> Iterator[DrawnFrame]:
        """Yield frames for ever; the caller keeps time."""
        return (self.frame(number) for number in count())

    def frame(self, number: int) -> DrawnFrame:
        """Return one frame by its number from 0; numbers may be left out, but must grow."""
        t_us = number * SECOND_US // self._fps
        if t_us >= self._truth.duration_us + SECOND_US:
            self._world.forget(t_us - self._keep_us)
            self._truth = self.truth(t_us)
        return DrawnFrame(t_us, self._painter.paint(self._truth, t_us))

    def truth(self, now_us: int) -> SceneTruth:
        """Return what happened up to ``now_us``, and what already began to happen."""
        self._world.advance(now_us + SECOND_US)
        objects = self._world.objects()
        return SceneTruth(self.kind.width_px, self.kind.height_px, self.kind.ground, now_us, objects)


class LiveVideo:
    """A live scene as a camera sends it: H.264, one packet for each frame, a keyframe every two seconds."""

    def __init__(self, seed: int, *, fps: int) -> None:
        self.kind, self.fps = kind_of(seed), fps
        self._scene = LiveScene(seed, fps=fps, kind=self.kind, keep_us=0)
        self._encoder: Any = None

    def packet(self, number: int) -> bytes:
        """Return one frame as an Annex B access unit; numbers as for ``LiveScene.frame``."""
        drawn = self._scene.frame(number)
        if self._encoder is None:
            crf, every = self.kind.crf, 2 * self.fps
            self._encoder = _live_encoder(drawn.pixels, fps=self.fps, crf=crf, keyframe_every=every)
        return b"".join(bytes(packet) for packet in self._encoder.encode(_to_frame(drawn.pixels, number)))


class DecodedPicture:
    """A ``core.frames.Picture`` over a frame that went through H.264."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Any) -> None:  # av.VideoFrame, which the type checker skips
        self._frame = frame

    @property
    def width_px(self) -> int:
        return int(self._frame.width)

    @property
    def height_px(self) -> int:
        return int(self._frame.height)

    def luma(self) -> NDArray[np.uint8]:
        plane = self._frame.planes[0]
        lines = np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)
        return lines[: self.height_px, : self.width_px]

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        smaller = width_px < self.width_px or height_px < self.height_px
        way = Interpolation.AREA if smaller else Interpolation.BILINEAR
        exact = Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
        frame = self._frame.reformat(
            width_px,
            height_px,
            "rgb24",
            interpolation=int(way | exact),
            dst_color_range=ColorRange.JPEG,
            threads=1,
        )
        return np.asarray(frame.to_ndarray(), dtype=np.uint8)


def through_h264(
    frames: Iterable[DrawnFrame], *, fps: int, crf: int, keyframe_every: int = 50
) -> Iterator[tuple[int, DecodedPicture]]:
    """Return each frame as a camera's viewer gets it: encoded, decoded, one out for each one in."""
    encoder: Any = None
    decoder = av.codec.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    for number, (t_us, pixels) in enumerate(frames):
        if encoder is None:
            encoder = _live_encoder(pixels, fps=fps, crf=crf, keyframe_every=keyframe_every)
        for packet in encoder.encode(_to_frame(pixels, number)):
            for decoded in decoder.decode(av.Packet(bytes(packet))):
                yield t_us, DecodedPicture(decoded)


def write_clip(path: Path, frames: Iterable[DrawnFrame], *, fps: int, crf: int) -> int:
    """Write frames as an H.264 MP4 and return how many there were."""
    number = 0
    with av.open(str(path), "w") as out:
        stream: Any = None
        for drawn in frames:
            if stream is None:
                stream = out.add_stream("libx264", rate=fps)
                _set_up(stream, drawn.pixels, fps=fps, crf=crf, keyframe_every=2 * fps)
            out.mux(stream.encode(_to_frame(drawn.pixels, number)))
            number += 1
        if stream is not None:
            out.mux(stream.encode(None))
    return number


def _live_encoder(pixels: Pixels, *, fps: int, crf: int, keyframe_every: int) -> Any:
    """Return an encoder that holds no frame back."""
    encoder = av.codec.CodecContext.create("libx264", "w")
    _set_up(encoder, pixels, fps=fps, crf=crf, keyframe_every=keyframe_every)
    encoder.options = {**encoder.options, "tune": "zerolatency"}
    return encoder


def _set_up(encoder: Any, pixels: Pixels, *, fps: int, crf: int, keyframe_every: int) -> None:
    encoder.height, encoder.width = pixels.shape[:2]
    encoder.pix_fmt = "yuv420p"
    encoder.time_base = Fraction(1, fps)
    encoder.framerate = Fraction(fps, 1)
    encoder.gop_size = keyframe_every
    encoder.options = {"preset": "veryfast", "crf": str(crf), "threads": "1"}


def _to_frame(pixels: Pixels, number: int) -> Any:
    frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format="yuv420p", threads=1)
    frame.pts = number
    return frame


def main(arguments: list[str] | None = None) -> None:
    """Write one clip, its truth, or both."""
    parser = argparse.ArgumentParser(prog="python -m models.builtin.scenes", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--fps", type=int, default=10)
    parser.add_argument("--size", choices=[f"{w}x{h}" for w, h in PICTURE_SIZES], help="default: by the seed")
    parser.add_argument("--out", type=Path, help="the clip, such as clip.mp4")
    parser.add_argument("--truth", type=Path, help="what really happens in it, as JSON")
    options = parser.parse_args(arguments)
    if options.out is None and options.truth is None:
        parser.error("nothing to write: give --out, --truth or both")
    width, _, height = (options.size or "").partition("x")
    kind = kind_of(options.seed, size=(int(width), int(height)) if options.size else None)
    truth = scene_truth(options.seed, options.seconds * SECOND_US, kind=kind)
    if options.out:
        times = frame_times(truth.duration_us, options.fps)
        write_clip(options.out, draw(options.seed, truth, times), fps=options.fps, crf=kind.crf)
    if options.truth:
        write_truth(options.truth, truth)


if __name__ == "__main__":
    main()
