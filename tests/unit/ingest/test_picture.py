"""A decoded frame as a picture, compared with an independent decode by the ffmpeg program."""

import subprocess
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from core.frames import Picture
from ingest.picture import AvPicture
from tests.support.clips import Shot, constant_rate, counter_luma, read_number, write_clip, write_grey


def first_picture(path: Path) -> AvPicture:
    with av.open(str(path)) as container:
        return AvPicture(next(container.decode(video=0)))


def by_ffmpeg(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return the first frame as RGB, as the program makes it."""
    raw = subprocess.run(
        [
            "ffmpeg",
            "-v",
            "error",
            "-i",
            str(path),
            "-frames:v",
            "1",
            "-sws_flags",
            "accurate_rnd+full_chroma_int+bilinear",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-",
        ],
        check=True,
        capture_output=True,
    ).stdout
    return np.frombuffer(raw, dtype=np.uint8).reshape(size[1], size[0], 3)


def write_colours(path: Path, size: tuple[int, int], *, encoder: str, pixel_format: str) -> Path:
    """Write a clip of one colourful frame."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (width + height)], axis=2)
    frame = av.VideoFrame.from_ndarray(rgb.astype(np.uint8), format="rgb24").reformat(format=pixel_format)
    with av.open(str(path), "w") as out:
        track = out.add_stream(
            encoder, rate=10, options={"crf": "10", "x265-params": "log-level=none:pools=1"}
        )
        track.width, track.height, track.pix_fmt = width, height, pixel_format
        track.codec_context.thread_count = 1
        frame.pts, frame.time_base = 0, Fraction(1, 10)
        for packet in [*track.encode(frame), *track.encode(None)]:
            out.mux(packet)
    return path


@pytest.mark.parametrize(
    ("size", "encoder", "pixel_format"),
    [
        ((321, 241), "libx265", "yuv444p"),
        ((500, 500), "libx264", "yuv420p"),
        ((848, 480), "libx264", "yuv420p"),
        ((322, 242), "libx264", "yuv422p"),
        ((322, 242), "ffv1", "yuv420p10le"),
    ],
)
def test_pixels_equal_an_independent_decode_to_the_last_column(
    tmp_path: Path, size: tuple[int, int], encoder: str, pixel_format: str
) -> None:
    path = write_colours(tmp_path / "clip.mkv", size, encoder=encoder, pixel_format=pixel_format)
    ours, theirs = first_picture(path).rgb(*size), by_ffmpeg(path, size)
    assert ours.shape == (size[1], size[0], 3)
    assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= 2


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("size", [(320, 240), (100, 75), (641, 481)])
def test_grey_stays_grey_in_full_and_limited_range_at_every_size(
    tmp_path: Path, full_range: bool, size: tuple[int, int]
) -> None:
    picture = first_picture(write_grey(tmp_path / "grey.mp4", level=64, full_range=full_range))
    rgb = picture.rgb(*size)
    assert rgb.shape == (size[1], size[0], 3)
    assert np.abs(rgb.astype(int) - 64).max() <= 3


def test_brightness_is_a_view_of_the_frame_itself_without_its_padding(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", [Shot(constant_rate(1), size=(322, 242))])
    picture = first_picture(path)
    luma = picture.luma()
    assert luma.shape == (242, 322)
    assert luma.base is not None
    assert not luma.flags.writeable
    assert np.abs(luma.astype(int) - counter_luma(0, (322, 242)).astype(int)).mean() < 3


def test_brightness_of_deep_colour_is_eight_bit(tmp_path: Path) -> None:
    path = write_colours(tmp_path / "clip.mkv", (64, 48), encoder="ffv1", pixel_format="yuv420p10le")
    luma = first_picture(path).luma()
    assert (luma.shape, luma.dtype) == ((48, 64), np.uint8)
    assert luma.std() > 10


def test_a_picture_outlives_its_container_and_is_scaled_as_asked(tmp_path: Path) -> None:
    picture: Picture = first_picture(write_clip(tmp_path / "clip.mp4", [Shot(constant_rate(1), first=77)]))
    assert (picture.width_px, picture.height_px) == (320, 240)
    assert read_number(picture.luma()) == 77
    assert read_number(picture.rgb(160, 120)) == 77
    assert read_number(picture.rgb(133, 101)) == 77
    assert read_number(picture.rgb(640, 480)) == 77
