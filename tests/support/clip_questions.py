"""Questions about a generated clip that plays over RTSP, and what is true of the frames that an answer used.

clip = PlayedClip(truth, fps=10, row_us=row_us)              # row_us: stream time of the clip's time 0
question = clip.truly(asked, heard)                          # None where people would not agree on one answer
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from bench.accuracy_questions import answer_again, views_of
from models.builtin.answering import Target
from models.builtin.judging import right
from models.builtin.questions import ABOUT_BOTH, WORDS, AskedQuestion, fill
from models.builtin.truth import SceneTruth
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked, Tongue
from tests.support.asking import Heard

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Slot:
    """One question to ask: a form with an open thing, and words about time with slots {at}, {from} and {to}."""

    kind: Asked
    tongue: Tongue
    form: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class PlayedClip:
    """A clip of a known truth; ``row_us`` is the stream time (µs) of its time 0."""

    truth: SceneTruth
    fps: int
    row_us: int

    def clip_us(self, t_us: int) -> int:
        """Return the clip's time of the frame with this stream time: a whole number of frames."""
        frame_us = _SECOND_US // self.fps
        return round((t_us - self.row_us) / frame_us) * frame_us

    def away_us(self, heard: Heard) -> int:
        """Return how far, at most, used frames lie from the clip's frames in time."""
        times = [frame["t_us"] for frame in heard.started["frames"]]
        return max((abs(t_us - self.row_us - self.clip_us(t_us)) for t_us in times), default=0)

    def views(self, heard: Heard, *, at_us: int | None = None) -> tuple[Watched, ...]:
        """Return what the used frames show: all of them, or up to each frame of a named second.

        Where no frame lies in that second, the newest before it counts.
        """
        frames = [(frame["t_us"], frame["label"]) for frame in heard.started["frames"]]
        moments = [UsedMoment(self.clip_us(t_us), label) for t_us, label in frames]
        return views_of(self.truth, moments, [t_us for t_us, _ in frames], at_us)

    def question(self, random: Random, slot: Slot, *, now_us: int, when: str) -> AskedQuestion:
        """Return a slot's question with a thing in it that was to be seen lately; its answer is still open."""
        words = WORDS[slot.tongue]
        clip_us = self.clip_us(now_us)
        lately = [UsedMoment(max(0, clip_us - ago_us), "") for ago_us in range(0, 9 * _SECOND_US, _SECOND_US)]
        watched = Watched(self.truth, lately[::-1])
        target = _target(random, slot, watched)
        text = fill(slot.form.replace("{when}", when), target, words)
        return AskedQuestion(slot.kind, slot.tongue, target, text, "")


def truths(question: AskedQuestion, views: Iterable[Watched]) -> list[tuple[AskedQuestion, Watched]]:
    """Return the question with its true answer by each view that has one."""
    found = ((answer_again(question, view), view) for view in views)
    return [(truth, view) for truth, view in found if truth is not None]


def is_true(given: str, truths: Sequence[tuple[AskedQuestion, Watched]]) -> bool:
    """Return whether an answer is true by some view."""
    return any(right(truth, given.strip(), view) for truth, view in truths)


def _target(random: Random, slot: Slot, watched: Watched) -> Target:
    things = list(watched.ever())
    if slot.kind in (Asked.APPEARED, Asked.LEFT):
        at = watched.appeared if slot.kind is Asked.APPEARED else watched.left
        things = [thing for thing in things if at(thing) is not None] or things
    elif slot.kind is not Asked.WAY:
        things = list(watched.things()) or things
    if not things:
        return Target()
    thing = random.choice(things)
    if "{shape}" in slot.form or "{shapes}" in slot.form:
        return Target(shape=thing.shape)
    if "{colour}" in slot.form:
        return Target(colour=thing.colour)
    return Target(thing.colour, thing.shape) if slot.kind in ABOUT_BOTH else Target()
