import pytest

from models.builtin.architecture import FRAME_TOKENS, PICTURES, new_model, new_vision_tower
from models.builtin.things import PICTURE_SIZES
from models.pictures import fit_cells

pytestmark = pytest.mark.torch
SPECIAL = {
    name: number
    for number, name in enumerate(
        (
            "<|im_end|>",
            "<|endoftext|>",
            "<|image_pad|>",
            "<|video_pad|>",
            "<|vision_start|>",
            "<|vision_end|>",
        )
    )
}


def test_no_camera_of_the_toy_world_takes_more_tokens_a_frame_than_promised() -> None:
    for width, height in PICTURE_SIZES:
        rows, columns = fit_cells(width, height, PICTURES)
        assert 20 <= rows * columns <= FRAME_TOKENS


def test_a_tower_of_its_own_drops_into_the_whole_model_unchanged() -> None:
    model = new_model(500, SPECIAL)
    model.model.visual.load_state_dict(new_vision_tower().state_dict(), strict=True)
    assert sum(weight.numel() for weight in model.parameters()) < 6_000_000
    assert model.lm_head.weight is model.model.language_model.embed_tokens.weight
