from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat import Cells
from models.pictures import PictureRules, fit_cells, prepare
from tests.support.tiny_model import NoisePicture, tiny_model_folder

__all__ = ["tiny_model_folder"]


def rules(frame_tokens: int = 196) -> PictureRules:
    return PictureRules(
        patch_px=16,
        merge=2,
        temporal=2,
        mean=(0.48, 0.45, 0.4),
        std=(0.27, 0.26, 0.25),
        rescale=1 / 255,
        frame_tokens=frame_tokens,
    )


@pytest.mark.parametrize(
    ("size", "budget", "wanted"),
    [
        ((1920, 1080), 196, Cells(10, 18)),
        ((1280, 720), 32, Cells(4, 7)),
        ((640, 480), 196, Cells(12, 16)),
        ((720, 1280), 32, Cells(7, 4)),
        ((64, 64), 196, Cells(2, 2)),
        ((1, 1), 196, Cells(1, 1)),
        ((4000, 1), 196, Cells(1, 125)),
        ((1, 4000), 32, Cells(32, 1)),
    ],
)
def test_a_picture_gets_the_cells_that_suit_its_shape(
    size: tuple[int, int], budget: int, wanted: Cells
) -> None:
    assert fit_cells(*size, rules(budget)) == wanted


@given(st.integers(1, 8_000), st.integers(1, 8_000), st.integers(1, 400))
def test_the_budget_is_never_exceeded(width: int, height: int, budget: int) -> None:
    rows, columns = fit_cells(width, height, rules(budget))

    assert rows >= 1
    assert columns >= 1
    assert rows * columns <= budget


@given(
    st.sampled_from([(1920, 1080), (1280, 960), (704, 576), (1080, 1920), (2560, 1440)]), st.integers(64, 400)
)
def test_ordinary_pictures_use_most_of_the_budget_and_keep_their_shape(
    size: tuple[int, int], budget: int
) -> None:
    rows, columns = fit_cells(*size, rules(budget))

    assert rows * columns >= 0.7 * budget
    assert abs(columns / rows / (size[0] / size[1]) - 1) < 0.2


def test_a_prepared_picture_is_one_step_in_time_of_whole_cells() -> None:
    prepared = prepare(NoisePicture(1, 1280, 720), rules(32))

    assert prepared.grid == (1, 8, 14)
    assert prepared.pixels.shape == (8 * 14, 3 * 2 * 16 * 16)
    assert prepared.pixels.dtype == np.float32


@pytest.mark.torch
def test_pixels_are_those_of_the_family_s_own_processor(tiny_model_folder: Path) -> None:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    own = rules(24)
    picture = NoisePicture(3, 640, 360)
    prepared = prepare(picture, own)
    _, rows, columns = prepared.grid
    theirs = Qwen2VLImageProcessorPil.from_pretrained(tiny_model_folder)(
        [picture.rgb(columns * 16, rows * 16)], do_resize=False, image_mean=own.mean, image_std=own.std
    )

    np.testing.assert_array_equal(prepared.pixels, theirs["pixel_values"])
    assert [list(prepared.grid)] == np.asarray(theirs["image_grid_thw"]).tolist()
