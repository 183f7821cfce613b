"""What generated cameras really showed, for judging answers about them.

shown = shown_scene(service.log, "demo")                     # newest start in the service's log
watched = shown.watched(used_frames(heard))                  # Watched over the frames the answer used
question = true_question(Asked.HOW_MANY, "How many objects are there?", watched)
assert question is None or right(question, heard.text, watched)
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from livelens.scene_feed import SCENE_FPS
from models.builtin.answering import Target, true_answer
from models.builtin.questions import WORDS, AskedQuestion
from models.builtin.scenes import scene_truth
from models.builtin.truth import SceneTruth
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked, Tongue
from tests.support.asking import Heard

NOBODY = Target()
"""What a question is about that names no thing."""

_FRAME_US = 1_000_000 // SCENE_FPS
_BEGAN = re.compile(r"a generated scene began camera_id=(\S+) seed=(\d+) began_us=(\d+)")


@dataclass(frozen=True, slots=True)
class ShownScene:
    """One run of a generated camera: its world's seed, and the stream time (µs) of the scene's time 0."""

    seed: int
    began_us: int

    def scene_us(self, t_us: int) -> int:
        """Return the scene's time of the frame with this stream time, exactly: times are a whole number of frames."""
        return round((t_us - self.began_us) / _FRAME_US) * _FRAME_US

    def truth(self, until_us: int) -> SceneTruth:
        """Return all that happened up to the stream time ``until_us``; its times count from the scene's time 0."""
        return scene_truth(self.seed, self.scene_us(until_us) + 1)

    def watched(self, used: Iterable[tuple[int, str]]) -> Watched:
        """Return the scene as frames with these stream times (µs) and labels, brackets included, show it."""
        frames = sorted(used)
        moments = [UsedMoment(self.scene_us(t_us), label) for t_us, label in frames]
        return Watched(self.truth(frames[-1][0]), moments)


def shown_scenes(log: str, camera_id: str) -> list[ShownScene]:
    """Return each run of a camera that a service's log (text format) tells of, oldest first."""
    return [
        ShownScene(int(found[2]), int(found[3])) for found in _BEGAN.finditer(log) if found[1] == camera_id
    ]


def shown_scene(log: str, camera_id: str) -> ShownScene:
    """Return the newest run of a camera; fails where there is none."""
    shown = shown_scenes(log, camera_id)
    assert shown, f"the log tells of no scene of {camera_id}"
    return shown[-1]


def used_frames(heard: Heard) -> list[tuple[int, str]]:
    """Return stream time (µs) and label, with brackets, of each frame that an answer used, oldest first."""
    return [(frame["t_us"], frame["label"]) for frame in heard.started["frames"]]


def true_question(
    kind: Asked, text: str, watched: Watched, *, target: Target = NOBODY, tongue: Tongue = Tongue.EN
) -> AskedQuestion | None:
    """Return what was asked with its true answer, for ``judging.right``; None where people would not agree on one."""
    answer = true_answer(kind, target, watched, WORDS[tongue])
    return None if answer is None else AskedQuestion(kind, tongue, target, text, answer)
