from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from core.frames import Picture
from models.builtin.domain import Why, in_domain, why_not
from models.builtin.scenes import DecodedPicture, DrawnFrame, draw, kind_of, scene_truth, through_h264
from models.builtin.things import PICTURE_SIZES
from tests.support import foreign_scenes
from tests.support.pictures import ArrayPicture

MEDIA = Path(__file__).parents[3] / "media"
CLIPS = sorted(MEDIA.glob("*.mp4"))
_SEED = 30_500_000


def _own(seed: int, part: int = 1) -> Iterator[Picture]:
    kind = kind_of(seed)
    kind = kind_of(seed, size=(kind.width_px // part, kind.height_px // part))
    times = [3_000_000 + number * 125_000 for number in range(3)]
    frames = draw(seed, scene_truth(seed, 10_000_000, kind=kind), times)
    return (picture for _, picture in through_h264(frames, fps=8, crf=kind.crf))


def _real(path: Path) -> Iterator[NDArray[np.uint8]]:
    with av.open(str(path)) as clip:
        for number, frame in enumerate(clip.decode(video=0)):
            if number % 30 == 0:
                yield DecodedPicture(frame).rgb(frame.width // 2, frame.height // 2)


def _grey(level: int, *size: int) -> NDArray[np.uint8]:
    return np.full((*(size or (360, 640)), 3), level, np.uint8)


def _with_disc(colour: tuple[int, int, int], *, stretch: float = 1.0, count: int = 1) -> ArrayPicture:
    pixels = _grey(120)
    down, across = np.mgrid[0:360, 0:640]
    for number in range(count):
        pixels[np.hypot((across - 70 - 110 * number) * stretch, down - 180) < 40] = colour
    return ArrayPicture(pixels)


@pytest.mark.parametrize("seed", range(_SEED, _SEED + 24))
def test_scenes_pass_as_cameras_show_them_at_full_and_at_half_size(seed: int) -> None:
    assert [why_not(picture) for picture in _own(seed, part=1 + seed % 2)] == [None, None, None]


@pytest.mark.parametrize("seed", range(9))
def test_scenes_of_another_program_pass(seed: int) -> None:
    truth = foreign_scenes.invent(seed, size=PICTURE_SIZES[seed % 3])
    times = [0, 1_000_000, 5_000_000]
    drawn = list(zip(times, foreign_scenes.draw(truth, times, seed=seed), strict=True))
    assert all(in_domain(ArrayPicture(pixels)) for _, pixels in drawn)
    frames = (DrawnFrame(t_us, pixels) for t_us, pixels in drawn)
    assert all(in_domain(picture) for _, picture in through_h264(frames, fps=1, crf=28))


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.stem)
def test_real_cameras_do_not_pass_whatever_their_light(clip: Path) -> None:
    for pixels in _real(clip):
        grey = pixels.mean(axis=2, keepdims=True) + np.zeros(3)
        variants = {
            "as it is": pixels,
            "dark": pixels * 0.3,
            "night": pixels * 0.1 + 4,
            "bright": pixels * 1.5 + 20.0,
            "pale": 120 + (pixels - 120.0) * 0.5,
            "without colour": grey,
            "colourful": grey + (pixels - grey) * 2,
        }
        passed = [
            name
            for name, values in variants.items()
            if in_domain(ArrayPicture(np.clip(values, 0, 255).astype(np.uint8)))
        ]
        assert passed == []


@pytest.mark.parametrize("level", [0, 16, 32, 220, 255])
def test_black_dark_and_white_pictures_do_not_pass(level: int) -> None:
    assert why_not(ArrayPicture(_grey(level))) is Why.LEVEL


@pytest.mark.parametrize("colour", [(0, 0, 200), (200, 30, 30), (150, 120, 90)])
def test_a_picture_of_one_colour_does_not_pass(colour: tuple[int, int, int]) -> None:
    assert why_not(ArrayPicture(_grey(0) + np.array(colour, np.uint8))) in (Why.COLOURFUL, Why.TINT)


def test_an_even_grey_is_an_empty_scene() -> None:
    assert in_domain(ArrayPicture(_grey(120)))


@pytest.mark.parametrize("size", [(90, 160), (200, 600)])
def test_pictures_too_small_or_too_long_do_not_pass(size: tuple[int, int]) -> None:
    assert why_not(ArrayPicture(_grey(120, *size))) is Why.SIZE


@pytest.mark.parametrize(
    ("picture", "broken"),
    [
        (_with_disc((215, 38, 40)), None),
        (_with_disc((215, 38, 40), count=4), None),
        (_with_disc((215, 38, 40), count=6), Why.OBJECTS),
        (_with_disc((0, 230, 230)), Why.COLOUR),
        (_with_disc((225, 170, 130)), Why.COLOUR),
        (_with_disc((215, 38, 40), stretch=0.6), Why.SHAPE),
        (_with_disc((240, 240, 240)), Why.GROUND),
    ],
    ids=["one", "four", "six", "cyan", "skin", "ellipse", "white"],
)
def test_objects_are_few_of_six_colours_and_four_shapes(picture: Picture, broken: Why | None) -> None:
    assert why_not(picture) is broken


def test_two_colours_on_the_ground_do_not_pass() -> None:
    pixels = _grey(120)
    pixels[:, 320:] += np.array((0, 6, 18), np.uint8)
    assert why_not(ArrayPicture(pixels)) is Why.TINT


def test_colourful_confetti_does_not_pass() -> None:
    pixels = _grey(120)
    pixels[::20, ::20] = pixels[1::20, 1::20] = pixels[2::20, 2::20] = pixels[3::20, 3::20] = (255, 0, 0)
    assert why_not(ArrayPicture(pixels)) is not None
