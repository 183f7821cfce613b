import numpy as np

from models.builtin.domain import in_domain
from tests.support.pictures import ArrayPicture


def test_one_level_that_the_painter_can_draw_is_an_empty_scene() -> None:
    assert in_domain(ArrayPicture(np.full((360, 640, 3), 120, np.uint8)))
