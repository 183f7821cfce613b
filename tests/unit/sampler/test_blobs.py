"""Connected pieces of what is in front."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sampler.blobs import Box, find_blobs

numbers = st.floats(-50, 200, allow_nan=False)
boxes = st.tuples(numbers, numbers, st.floats(0.5, 80), st.floats(0.5, 80)).map(
    lambda b: Box(b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(boxes, boxes)
def test_boxes_agree_on_overlap_likeness_and_distance(one: Box, other: Box) -> None:
    assert one.overlap(other) == other.overlap(one)
    assert 0 <= one.likeness(other) <= 1 + 1e-9
    assert (one.distance(other) > 0) <= (one.overlap(other) == 0)
    both = one.union(other)
    assert both.overlap(one) >= one.area * (1 - 1e-9)
    assert one.likeness(one) > 0.999


@given(boxes, numbers, numbers)
def test_a_moved_box_keeps_its_size_and_carries_its_centre_along(box: Box, dx: float, dy: float) -> None:
    moved = box.moved(dx, dy)
    assert abs(moved.area - box.area) < 1e-6 * max(1.0, box.area)
    assert abs(moved.centre[0] - box.centre[0] - dx) < 1e-9


def test_pieces_are_counted_with_what_moved_in_them() -> None:
    front = np.zeros((90, 160), dtype=np.uint8)
    moved = np.zeros_like(front)
    front[10:20, 10:30] = 1
    front[50:52, 100:102] = 1  # four pixels: too small
    front[60:80, 120:160] = 1
    moved[60:64, 120:124] = 1
    moved[0:5, 60:70] = 1  # moved, but nothing is in front
    blobs, labels = find_blobs(front, moved)
    assert [(b.box, b.area, b.moving) for b in blobs] == [
        (Box(10, 10, 30, 20), 200, 0),
        (Box(120, 60, 160, 80), 800, 16),
    ]
    assert (labels == blobs[1].label).sum() == 800


def test_a_thin_break_does_not_part_a_piece() -> None:
    front = np.zeros((90, 160), dtype=np.uint8)
    front[10:60, 40:60] = 1
    front[30:32] = 0
    assert len(find_blobs(front, front)[0]) == 1


def test_nothing_in_front_is_no_piece() -> None:
    front = np.zeros((90, 160), dtype=np.uint8)
    assert find_blobs(front, front)[0] == []
