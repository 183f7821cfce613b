"""Scenes for the accuracy bench's own measuring code: another program's, and ours of the same length and rate.

answered(foreign_scene, 40, lengths, decoder=decoder, encoder=encoder)
"""

from bench.accuracy_scenes import RecordedScene, record
from models.builtin.scenes import DrawnFrame, draw, frame_times, kind_of, scene_truth
from models.builtin.seeds import BENCH
from models.builtin.things import PICTURE_SIZES
from models.builtin.truth import truth_from_json
from tests.support import foreign_scenes

SECONDS, FPS, CRF = 12, 5, 27
_FIRST = BENCH + 700_000_000
_START_US = 1_790_000_000_000_000


def foreign_scene(number: int) -> RecordedScene:
    """Return a scene that another program invented and drew, played in by the published schema."""
    size = PICTURE_SIZES[number % len(PICTURE_SIZES)]
    described = foreign_scenes.invent(number, seconds=SECONDS, size=size)
    truth = truth_from_json(described)
    times = list(frame_times(truth.duration_us, FPS))
    drawn = zip(times, foreign_scenes.draw(described, times, seed=number), strict=True)
    return record(truth, (DrawnFrame(*frame) for frame in drawn), fps=FPS, crf=CRF, start_us=_START_US)


def own_scene(number: int) -> RecordedScene:
    """Return a scene of our own world and drawing code."""
    seed = _FIRST + number
    kind = kind_of(seed, size=PICTURE_SIZES[number % len(PICTURE_SIZES)])
    truth = scene_truth(seed, SECONDS * 1_000_000, kind=kind)
    drawn = draw(seed, truth, frame_times(truth.duration_us, FPS))
    return record(truth, drawn, fps=FPS, crf=CRF, start_us=_START_US)
