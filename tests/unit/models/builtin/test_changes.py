import numpy as np

from models.builtin.cells import IGNORED
from models.builtin.changes import CAME, LEFT, MOVED, NOTHING, STOOD, WAYS, change_labels, thing_number
from models.builtin.watched import UsedMoment, Watched, Way
from models.chat import Cells
from tests.support.toy_scenes import SECOND, scene, thing, watched

CELLS = Cells(2, 4)
STANDS = thing(1, at=(0.1, 0.1))
GOES = thing(2, "blue", "square", at=(0.6, 0.8), leaves_s=1.5)
COMES = thing(3, "green", "cross", at=(0.6, 0.1), to=(0.9, 0.1), comes_s=0.5, moves_s=(1, 3))


def test_a_cell_knows_what_came_went_moved_and_stood_since_the_frame_before() -> None:
    labels = change_labels(watched(STANDS, GOES, COMES, frames_s=(0, 1, 2, 3)), CELLS)
    assert set(labels.event[0].tolist()) == {IGNORED}
    assert labels.event[1].tolist() == [STOOD, NOTHING, CAME, NOTHING, NOTHING, NOTHING, STOOD, NOTHING]
    assert labels.event[2].tolist() == [STOOD, NOTHING, NOTHING, MOVED, NOTHING, NOTHING, LEFT, NOTHING]
    assert [(labels.order[1, 2], labels.order[2, 6])] == [(0, 1)]
    assert (labels.order != IGNORED).sum() == 2
    assert labels.thing[2, 6] == 1 + thing_number(GOES)
    assert labels.way[3].tolist() == [WAYS[Way.NOWHERE], *[IGNORED] * 2, WAYS[Way.RIGHT], *[IGNORED] * 4]


def test_a_frame_knows_how_many_are_there_and_which_are_new_or_gone() -> None:
    labels = change_labels(watched(STANDS, GOES, COMES, frames_s=(0, 1, 2)), CELLS)
    assert labels.how_many.tolist() == [2, 3, 2]
    assert np.flatnonzero(labels.came[1]).tolist() == [thing_number(COMES)]
    assert np.flatnonzero(labels.left[2]).tolist() == [thing_number(GOES)]
    assert not labels.came[0].any()
    assert sorted(np.flatnonzero(labels.present[0])) == sorted(map(thing_number, (STANDS, GOES)))


def test_a_frame_knows_its_labels_clock() -> None:
    moments = [UsedMoment(0, "[14:03:09]"), UsedMoment(SECOND, "[2026-01-01 00:00:10.7]")]
    labels = change_labels(Watched(scene(STANDS), moments), CELLS)
    assert labels.clock.tolist() == [[14, 3, 9, 10], [0, 0, 10, 7]]
