"""Twenty questions about a generated clip that plays over RTSP, and what is true of the frames that an answer used.

truth = generated_clip(path)                                 # a file for an RTSP server
clip = PlayedClip(truth, CLIP_FPS, await begun_us(cameras))  # its time 0 in stream time
put = clip.put(random, SLOTS[0], now_us=now_us)              # .text, to be asked
judged = clip.judge(put, await ask(...))                     # None where people would not agree on one answer
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bench.accuracy_questions import answer_again, views_of
from models.builtin.answering import Target
from models.builtin.judging import right
from models.builtin.questions import ABOUT_BOTH, WORDS, AskedQuestion, fill
from models.builtin.scenes import draw, frame_times, kind_of, scene_truth, write_clip
from models.builtin.seeds import BENCH
from models.builtin.truth import SceneTruth
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import Asked, Tongue
from tests.support.asking import Heard
from tests.support.rtsp_server import RtspServer

CLIP_S, CLIP_FPS = 60, 10

_SEED = BENCH + 800_000_000 + 207
_CRF = 27
_SECOND_US = 1_000_000
_SEEN_FOR_US = 4 * _SECOND_US
_SINCE_US, _UNTIL_US = 10 * _SECOND_US, 2 * _SECOND_US


@dataclass(frozen=True, slots=True)
class Slot:
    """One question to ask: a form with an open thing, and words about time with slots {at}, {from} and {to}."""

    kind: Asked
    tongue: Tongue
    form: str
    when: str = ""


_EN, _ZH = Tongue.EN, Tongue.ZH
SLOTS = (
    # now
    Slot(Asked.HOW_MANY, _EN, "How many objects are there{when}?", " now"),
    Slot(Asked.COLOUR, _ZH, "{when}{shape}是什么颜色？", "现在"),
    Slot(Asked.SHAPE, _EN, "What shape is the {colour} object{when}?", " right now"),
    Slot(Asked.WHERE, _ZH, "{when}{thing}在哪里？", "现在"),
    Slot(Asked.THERE, _EN, "Is there {a thing}{when}?", " at the moment"),
    Slot(Asked.SEE, _EN, "What do you see{when}?"),
    Slot(Asked.SEE, _ZH, "{when}你看到什么？", "此刻"),
    Slot(Asked.TIME, _EN, "When was the last picture taken?"),
    # the last seconds
    Slot(Asked.HAPPENED, _EN, "What happened{when}?", " in the last 5 seconds"),
    Slot(Asked.HAPPENED, _ZH, "{when}发生了什么？", "最近6秒"),
    Slot(Asked.WAY, _EN, "Which way did the {thing} move{when}?", " in the last 5 seconds"),
    Slot(Asked.MOVED, _ZH, "{when}什么东西移动了？", "最近5秒"),
    Slot(Asked.APPEARED, _EN, "When did the {thing} appear{when}?", " in the last 10 seconds"),
    Slot(Asked.LEFT, _ZH, "{when}{thing}什么时候离开的？", "最近10秒"),
    Slot(Asked.APPEARED, _ZH, "{when}{thing}什么时候出现的？", "刚才"),
    # clock times
    Slot(Asked.WHERE, _EN, "Where was the {thing}{when}?", " at {at}"),
    Slot(Asked.SEE, _ZH, "{when}你看到什么？", "{at}"),
    Slot(Asked.HAPPENED, _EN, "What happened{when}?", " between {from} and {to}"),
    Slot(Asked.LEFT, _EN, "When did the {thing} leave{when}?", " since {from}"),
    Slot(Asked.WAY, _ZH, "{when}{thing}往哪边移动？", "{from}到{to}"),
)
"""Twenty questions of every kind, in both languages, about now, the last seconds and clock times."""


@dataclass(frozen=True, slots=True)
class Put:
    """A question as it is asked at the stream time ``now_us``; its answer is still open. ``at_us``: the second named."""

    question: AskedQuestion
    now_us: int
    at_us: int | None = None

    @property
    def text(self) -> str:
        return self.question.text


@dataclass(frozen=True, slots=True)
class Judged:
    """One question with its answer, and whether it is true."""

    question: AskedQuestion
    heard: Heard
    true: bool


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
        times = [t_us for t_us, _ in used_frames(heard)]
        return max((abs(t_us - self.row_us - self.clip_us(t_us)) for t_us in times), default=0)

    def put(self, random: Random, slot: Slot, *, now_us: int) -> Put | None:
        """Return a slot's question about things seen lately; None where nothing was that it could be about."""
        at_us = (now_us - _SEEN_FOR_US) // _SECOND_US * _SECOND_US
        when = slot.when.replace("{at}", _clock(at_us)).replace("{from}", _clock(now_us - _SINCE_US))
        when = when.replace("{to}", _clock(now_us - _UNTIL_US))
        words = WORDS[slot.tongue]
        clip_us = self.clip_us(now_us)
        lately = [UsedMoment(max(0, clip_us - ago_us), "") for ago_us in range(0, 9 * _SECOND_US, _SECOND_US)]
        target = _target(random, slot, Watched(self.truth, lately[::-1]))
        text = fill(slot.form.replace("{when}", when), target, words)
        if "{" in text:
            return None
        question = AskedQuestion(slot.kind, slot.tongue, target, text, "")
        return Put(question, now_us, at_us if "{at}" in slot.when else None)

    def truths(self, put: Put, frames: Sequence[tuple[int, str]]) -> list[tuple[AskedQuestion, Watched]]:
        """Return the question with its true answer by each view of used frames (stream time in µs, label) that has one.

        A view is all of them, or, of a second named, up to each frame of that second; where no frame lies in it, the
        newest before it counts.
        """
        moments = [UsedMoment(self.clip_us(t_us), label) for t_us, label in frames]
        views = views_of(self.truth, moments, [t_us for t_us, _ in frames], put.at_us)
        found = ((answer_again(put.question, view), view) for view in views)
        return [(truth, view) for truth, view in found if truth is not None]

    def judge(self, put: Put, heard: Heard) -> Judged | None:
        """Return an answer judged; None where the frames that it used give the question no one answer."""
        known = self.truths(put, used_frames(heard))
        return Judged(known[-1][0], heard, is_true(heard.text, known)) if known else None


def generated_clip(
    path: Path, *, number: int = 0, size: tuple[int, int] = (640, 360), seconds: int = CLIP_S
) -> SceneTruth:
    """Write a scene that no training has seen, another one for each number, and return what happens in it."""
    seed = _SEED + number
    kind = kind_of(seed, size=size)
    truth = scene_truth(seed, seconds * _SECOND_US, kind=kind)
    write_clip(path, draw(seed, truth, frame_times(truth.duration_us, CLIP_FPS)), fps=CLIP_FPS, crf=_CRF)
    return truth


async def begun_us(cameras: RtspServer) -> int:
    """Return the stream time at which the clip's first picture was sent."""
    sent = cameras.sent()
    while not sent:
        await asyncio.sleep(0.05)
        sent = cameras.sent()
    return sent[0].wall_us - sent[0].offset_us


def used_frames(heard: Heard) -> list[tuple[int, str]]:
    """Return stream time (µs) and label of each frame that an answer used, oldest first."""
    return [(frame["t_us"], frame["label"]) for frame in heard.started["frames"]]


def is_true(given: str, truths: Iterable[tuple[AskedQuestion, Watched]]) -> bool:
    """Return whether an answer is true by some view."""
    return any(right(truth, given.strip(), view) for truth, view in truths)


def _clock(t_us: int) -> str:
    return f"{datetime.fromtimestamp(t_us // _SECOND_US, UTC):%H:%M:%S}"


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
