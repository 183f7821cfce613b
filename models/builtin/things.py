"""What the toy world is made of: colours, shapes, grounds and picture sizes. Words only, no pixels."""

from enum import StrEnum


class ThingColour(StrEnum):
    """Colours of objects, far enough apart for a person to name at the model's picture size."""

    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"


class ThingShape(StrEnum):
    """Shapes of objects; upright but for a few degrees."""

    CIRCLE = "circle"
    SQUARE = "square"
    TRIANGLE = "triangle"
    CROSS = "cross"


class Ground(StrEnum):
    """What the objects stand on; always much less colourful than they are."""

    PLAIN = "plain"
    GRADED = "graded"
    NOISY = "noisy"
    TEXTURED = "textured"


PICTURE_SIZES = ((640, 360), (480, 360), (360, 640))
"""(width, height) in pixels of the cameras that scenes are drawn for."""

MOST_OBJECTS = 4
"""No scene ever shows more objects at a time."""

RADIUS_RANGE = (0.09, 0.20)
"""Smallest and largest radius, as a share of the picture's short side."""
