"""Clips that paint each frame's number into its pixels, so that a test knows which frame came back.

    write_clip(path, [Shot(constant_rate(50))])  ->  a file;  its suffix chooses the container
    read_number(picture.luma())                  ->  7

Sizes are small and the encoder is the fastest one: a clip of 50 frames takes about 50 ms.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.codeccontext import VideoCodecContext
from numpy.typing import NDArray

_BITS = 16
_CELLS = _BITS + 4
_MICROSECOND = Fraction(1, 1_000_000)
_TS_PACKET_BYTES = 188

# One slice per picture: with two, RTP payloaders repeat parameter sets between them and frames arrive in halves.
_X264 = "threads=1:sliced-threads=0:slices=1:scenecut=0"


def constant_rate(frames: int, *, rate: Fraction | int = 10, start_us: int = 0) -> list[int]:
    """Return frame times in µs at one steady rate."""
    return [start_us + int(n * 1_000_000 / Fraction(rate)) for n in range(frames)]


def variable_rate(frames: int, *, start_us: int = 0, seed: int = 1) -> list[int]:
    """Return frame times in µs with steps of 20 to 200 ms."""
    rng, at_us, times = random.Random(seed), start_us, []
    for _ in range(frames):
        times.append(at_us)
        at_us += rng.randrange(20_000, 200_000, 1000)
    return times


def with_gap(times_us: Sequence[int], *, after: int, gap_us: int) -> list[int]:
    """Return the times with a hole of ``gap_us`` more behind the frame number ``after``."""
    return [at_us + (gap_us if n > after else 0) for n, at_us in enumerate(times_us)]


@dataclass(frozen=True, slots=True)
class Shot:
    """A run of frames of one size. Frame ``n`` of it carries the number ``first + n``."""

    times_us: Sequence[int]
    size: tuple[int, int] = (320, 240)
    first: int = 0
    gop: int = 10
    b_frames: int = 0


def number_cells(number: int) -> list[int]:
    """Return what is painted for ``number``: marker 1 0, 16 bits with the highest first, parity, marker 1."""
    bits = [(number >> (_BITS - 1 - i)) & 1 for i in range(_BITS)]
    return [1, 0, *bits, sum(bits) & 1, 1]


def paint_number(pixels: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    """Paint ``number`` over the top eighth of an array (height, width[, 3]), in place; return it."""
    height, width = pixels.shape[:2]
    for i, cell in enumerate(number_cells(number)):
        pixels[: height // 8, i * width // _CELLS : (i + 1) * width // _CELLS] = 235 if cell else 16
    return pixels


def read_number(pixels: NDArray[np.uint8]) -> int | None:
    """Return the number painted into a luma or RGB array of any size, or None where it cannot be read."""
    grey = pixels if pixels.ndim == 2 else pixels.mean(axis=2)
    height, width = grey.shape
    row = grey[height // 32 : max(height // 32 + 1, height * 3 // 32)]
    cells = []
    for i in range(_CELLS):
        middle, reach = (i + 0.5) * width / _CELLS, max(0.5, width / _CELLS / 5)
        cells.append(
            int(row[:, int(middle - reach) : max(int(middle - reach) + 1, int(middle + reach))].mean() > 125)
        )
    bits = cells[2 : 2 + _BITS]
    if cells[:2] != [1, 0] or cells[-1] != 1 or sum(bits) & 1 != cells[2 + _BITS]:
        return None
    return int("".join(map(str, bits)), 2)


def counter_luma(number: int, size: tuple[int, int] = (320, 240)) -> NDArray[np.uint8]:
    """Return the brightness plane of frame ``number``: its number, a quiet room and a box that moves."""
    width, height = size
    plane = np.empty((height, width), dtype=np.uint8)
    plane[:] = np.linspace(80, 160, height, dtype=np.uint8)[:, None]
    left, top, side = number * 7 % max(1, width - width // 8), height // 2, width // 8
    plane[top : top + side, left : left + side] = 210
    return paint_number(plane, number)


def write_clip(
    path: Path,
    shots: Sequence[Shot],
    *,
    container: str | None = None,
    encoder: str = "libx264",
    audio: str = "none",
    packet_times_us: Sequence[int] | None = None,
) -> Path:
    """Write shots one after another into one video track.

    Args:
        container: FFmpeg's name of the format where the suffix does not say it, such as ``h264``.
        encoder: ``libx264``, ``libx265`` or ``mjpeg``.
        audio: ``none``, ``first`` (as track 0), ``last`` or ``only``.
        packet_times_us: Written in place of the frames' own times, in the order of packets (no B frames).
    """
    with av.open(str(path), "w", format=container) as out:
        voice = _add_tone(out) if audio in ("first", "only") else None
        track = None
        if audio != "only":
            track = _add_video(out, shots[0], encoder)
        if audio == "last":
            voice = _add_tone(out)
        if voice is not None:
            length_us = max(shot.times_us[-1] for shot in shots) + 100_000
            for packet in _tone(voice, shots[0].times_us[0], length_us):
                out.mux(packet)
        if track is None:
            return path
        times = iter(packet_times_us) if packet_times_us is not None else None
        for number, shot in enumerate(shots):
            context = track.codec_context if number == 0 else _encoder(shot, encoder)
            for packet in _encode(context, shot, encoder):
                if times is not None:
                    packet.pts = packet.dts = int(next(times) * _MICROSECOND / packet.time_base)
                packet.stream = track
                out.mux(packet)
    return path


def join_files(path: Path, parts: Sequence[Path]) -> Path:
    """Write the parts' bytes one after another: a stream whose clock starts over."""
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def drop_ts_packets(
    source: Path, path: Path, *, share: float = 0.05, keep_first: int = 20, seed: int = 1
) -> Path:
    """Copy an MPEG-TS file without a random share of its 188-byte packets."""
    data, rng = source.read_bytes(), random.Random(seed)
    packets = [data[at : at + _TS_PACKET_BYTES] for at in range(0, len(data), _TS_PACKET_BYTES)]
    path.write_bytes(b"".join(p for n, p in enumerate(packets) if n < keep_first or rng.random() >= share))
    return path


def zero_middle(source: Path, path: Path, *, size_bytes: int = 4000) -> Path:
    """Copy a file with zeros over the bytes in its middle."""
    data = bytearray(source.read_bytes())
    at = (len(data) - size_bytes) // 2
    data[at : at + size_bytes] = bytes(size_bytes)
    path.write_bytes(data)
    return path


def cut_front(source: Path, path: Path, *, share: float = 0.25) -> Path:
    """Copy an MPEG-TS file without its first quarter, keeping the two tables at its start."""
    data = source.read_bytes()
    at = int(len(data) * share) // _TS_PACKET_BYTES * _TS_PACKET_BYTES
    path.write_bytes(data[: 3 * _TS_PACKET_BYTES] + data[at:])
    return path


def true_times_us(path: Path) -> list[int]:
    """Return the video frames' times as the file gives them, in µs and in order of showing."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        times = [p.pts * p.time_base for p in container.demux(stream) if p.pts is not None]
    return sorted(int(at * 1_000_000) for at in times)


def write_grey(
    path: Path, *, level: int, full_range: bool, size: tuple[int, int] = (320, 240), frames: int = 5
) -> Path:
    """Write a clip of one flat grey, ``level`` as seen on a screen (0-255), coded full- or limited-range."""
    coded = level if full_range else round(16 + level * 219 / 255)
    pixel_format = "yuvj420p" if full_range else "yuv420p"
    with av.open(str(path), "w") as out:
        track = _add_video(out, Shot((0,), size=size), "libx264", pixel_format=pixel_format)
        for n in range(frames):
            plane = np.full((size[1] * 3 // 2, size[0]), 128, dtype=np.uint8)
            plane[: size[1]] = coded
            frame = av.VideoFrame.from_ndarray(plane, format=pixel_format)
            frame.pts, frame.time_base = n * 100_000, _MICROSECOND
            frame.color_range = 2 if full_range else 1
            for packet in track.encode(frame):
                out.mux(packet)
        for packet in track.encode(None):
            out.mux(packet)
    return path


def _options(shot: Shot, encoder: str) -> dict[str, str]:
    if encoder == "libx264":
        return {
            "preset": "ultrafast",
            "crf": "20",
            "g": str(shot.gop),
            "bf": str(shot.b_frames),
            "x264-params": _X264,
        }
    if encoder == "libx265":
        params = f"keyint={shot.gop}:min-keyint={shot.gop}:scenecut=0:bframes={shot.b_frames}:log-level=none:pools=1"
        return {"preset": "ultrafast", "crf": "20", "x265-params": params}
    return {"qmin": "3", "qmax": "3"}


def _pixel_format(encoder: str) -> str:
    return "yuvj420p" if encoder == "mjpeg" else "yuv420p"


def _add_video(
    out: av.container.OutputContainer, shot: Shot, encoder: str, *, pixel_format: str | None = None
) -> av.VideoStream:
    track = out.add_stream(encoder, rate=25, options=_options(shot, encoder))
    _set_up(track.codec_context, shot, pixel_format or _pixel_format(encoder))
    return track


def _encoder(shot: Shot, encoder: str) -> VideoCodecContext:
    context = av.CodecContext.create(encoder, "w")
    context.options = _options(shot, encoder)
    context.framerate = Fraction(25)
    _set_up(context, shot, _pixel_format(encoder))
    return context


def _set_up(context: VideoCodecContext, shot: Shot, pixel_format: str) -> None:
    context.width, context.height = shot.size
    context.pix_fmt = pixel_format
    context.time_base = Fraction(1, 90_000)
    context.thread_count = 1


def _encode(context: VideoCodecContext, shot: Shot, encoder: str) -> Iterator[av.Packet]:
    width, height = shot.size
    for n, at_us in enumerate(shot.times_us):
        frame = av.VideoFrame(width, height, _pixel_format(encoder))
        luma = counter_luma(shot.first + n, shot.size)
        for plane, values in zip(frame.planes, (luma, None, None), strict=True):
            lines = np.frombuffer(plane, dtype=np.uint8).reshape(
                -1, plane.line_size
            )  # padded to the line size
            if values is None:
                lines[:] = 128
            else:
                lines[:height, :width] = values
        frame.pts, frame.time_base = round(at_us * _MICROSECOND * 90_000), Fraction(1, 90_000)
        yield from context.encode(frame)
    yield from context.encode(None)


def _add_tone(out: av.container.OutputContainer) -> av.AudioStream:
    return out.add_stream("aac", rate=16_000, layout="mono")


def _tone(voice: av.AudioStream, start_us: int, end_us: int) -> Iterator[av.Packet]:
    samples, at = 1024, start_us * 16_000 // 1_000_000
    while at < end_us * 16_000 // 1_000_000:
        wave = np.sin(np.arange(at, at + samples) * 0.1).astype(np.float32)[None, :]
        frame = av.AudioFrame.from_ndarray(wave, format="fltp", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 16_000, at, Fraction(1, 16_000)
        yield from voice.encode(frame)
        at += samples
    yield from voice.encode(None)
