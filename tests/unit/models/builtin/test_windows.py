from datetime import date
from random import Random

import numpy as np
import pytest

from models.builtin.clips import Clip
from models.builtin.windows import LabelClock, draw_window, label_of
from models.chat import Cells
from models.prompt import FramePart, TextPart
from tests.support.toy_scenes import scene, thing

START = 36_000 * 1_000_000


def _clip() -> Clip:
    times = tuple(START + t for t in (0, 2_000_000, 2_300_000, 2_600_000, 3_100_000, 5_100_000, 7_100_000))
    pixels = np.zeros((len(times), 32, 32, 3), np.uint8)
    return Clip(scene(thing(1)), START, times, pixels, Cells(1, 1), ((START + 3_100_000, START + 7_100_000),))


def test_a_label_has_tenths_where_the_kept_frame_before_it_lies_in_the_same_second() -> None:
    labels = [label_of(_clip(), at, LabelClock()) for at in range(5)]
    assert labels == ["[10:00:00]", "[10:00:02]", "[10:00:02.3]", "[10:00:02.6]", "[10:00:03]"]


def test_a_clock_begins_again_at_midnight_and_tells_the_date_where_a_window_crosses_it() -> None:
    assert LabelClock().text(86_400_000_000 + 61_000_000) == "00:01:01"
    clock = LabelClock(-5_000_000, 5_000_000, date(2026, 3, 1))
    assert [clock.text(t_us) for t_us in (4_000_000, 5_000_000)] == [
        "2026-02-28 23:59:59",
        "2026-03-01 00:00:00",
    ]


@pytest.mark.parametrize("frames", [1, 2, 4, 7, 16])
def test_a_window_holds_so_many_frames_in_order_each_behind_its_label(frames: int) -> None:
    for seed in range(20):
        window = draw_window(Random(seed), _clip(), frames)
        assert len(window.chosen) == min(frames, 7)
        assert list(window.chosen) == sorted(set(window.chosen))
        shown = [part.label for part in window.parts if isinstance(part, FramePart)]
        assert shown == [moment.label for moment in window.watched.moments]


def test_bounds_stand_last_and_a_note_tells_that_nothing_moved() -> None:
    parts = draw_window(Random(1), _clip(), 7).parts
    assert isinstance(parts[-1], TextPart)
    assert parts[-1].text.startswith("(It is now ")
    noted = [
        part.text
        for seed in range(40)
        for part in draw_window(Random(seed), _clip(), 7).parts
        if isinstance(part, TextPart) and part.text.startswith("(Unchanged since ")
    ]
    assert 0 < len(noted) < 40
