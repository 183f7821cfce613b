"""Pictures as JPEG."""

import cv2
import numpy as np
import pytest

from sampler.errors import PictureRefused
from sampler.jpeg import encode_jpeg, fitted_size
from tests.support.pictures import ArrayPicture


def test_colours_survive() -> None:
    rgb = np.zeros((64, 96, 3), dtype=np.uint8)
    rgb[:, :48] = (220, 30, 40)
    rgb[:, 48:] = (20, 60, 210)
    back = cv2.imdecode(np.frombuffer(encode_jpeg(rgb, 90), dtype=np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert back.shape == rgb.shape
    assert np.abs(back[:, 8:40].astype(int) - (220, 30, 40)).max() < 12
    assert np.abs(back[:, 60:90].astype(int) - (20, 60, 210)).max() < 12


def test_an_empty_picture_is_refused_by_name() -> None:
    with pytest.raises(PictureRefused):
        encode_jpeg(np.zeros((0, 0, 3), dtype=np.uint8), 80)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((1280, 720), (960, 540)), ((720, 1280), (540, 960)), ((640, 360), (640, 360)), ((4000, 1), (960, 1))],
)
def test_pictures_are_scaled_down_and_never_up(size: tuple[int, int], expected: tuple[int, int]) -> None:
    picture = ArrayPicture(np.zeros((size[1], size[0]), dtype=np.uint8))
    assert fitted_size(picture, 960) == expected
