from models.builtin.things import MOST_OBJECTS, PICTURE_SIZES, RADIUS_RANGE, ThingColour, ThingShape


def test_there_are_enough_colours_shapes_and_sizes_one_of_them_portrait() -> None:
    assert len(ThingColour) >= 6
    assert len(ThingShape) >= 4
    assert len(PICTURE_SIZES) >= 3
    assert any(height > width for width, height in PICTURE_SIZES)
    assert RADIUS_RANGE == (0.09, 0.20)
    assert MOST_OBJECTS == 4
