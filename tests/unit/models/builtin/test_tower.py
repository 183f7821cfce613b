import numpy as np
import pytest
import torch

from models.builtin.architecture import PICTURES, new_vision_tower
from models.builtin.tower import patches_of, see
from models.chat import Cells
from models.pictures import prepare
from tests.support.pictures import ArrayPicture

pytestmark = pytest.mark.torch
CELLS = Cells(4, 7)


def test_training_sees_what_the_librarys_own_tower_sees_of_pictures_as_serving_prepares_them() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 128, 224, 3), dtype=np.uint8)
    prepared = [prepare(ArrayPicture(picture), PICTURES) for picture in pixels]
    tower = new_vision_tower().eval()
    with torch.no_grad():
        mine = see(tower, patches_of(torch.from_numpy(pixels), CELLS), CELLS)
        rows = torch.from_numpy(np.concatenate([picture.pixels for picture in prepared]))
        theirs = tower(rows, torch.tensor([picture.grid for picture in prepared]))
    assert mine.pooled.shape == (3, 28, 192)
    assert torch.allclose(mine.pooled.flatten(0, 1), theirs.pooler_output, atol=1e-5)
    assert torch.allclose(mine.deep[0].flatten(0, 1), theirs.deepstack_features[0], atol=1e-5)
    assert mine.columns().shape == (3, 28, 384)
