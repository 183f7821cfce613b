"""What the accuracy bench asks: a kind, a form of words, words about time or a marked span, a target. Pure.

Random ──draw_asking──▶ Asking (words with open slots) ──the product says which frames──▶ put_question ──▶ text, true answer
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from random import Random

from core.spans import Span
from models.builtin.answering import Target, true_answer
from models.builtin.questions import ABOUT_BOTH, WORDS, AskedQuestion, fill, target_of
from models.builtin.things import ThingColour, ThingShape
from models.builtin.truth import SceneObject, SceneTruth
from models.builtin.watched import UsedMoment, Watched
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue, Words

CLEAR_SHARE = 0.05
"""Places nearer to a border between two thirds are not asked about."""

SECOND_US = 1_000_000
ABSENT = 0.2
WHOLE = Target()
_LASTS = (5, 10, 15, 20, 30)
_OPEN = 0.5


class Mention(StrEnum):
    """How a question says which moment it is about."""

    NOTHING = "nothing"
    NOW = "now"
    AT = "at"
    JUST_NOW = "just now"
    LAST = "last n s"
    BETWEEN = "between"
    SINCE = "since"
    MARKED = "marked"  # no words: a span marked on the time line


SINGLE_MENTIONS = {Mention.NOTHING: 35, Mention.NOW: 20, Mention.AT: 10, Mention.MARKED: 35}
SPAN_MENTIONS = {
    Mention.NOTHING: 35,
    Mention.JUST_NOW: 10,
    Mention.LAST: 15,
    Mention.BETWEEN: 10,
    Mention.SINCE: 5,
    Mention.MARKED: 25,
}
"""How often questions say it how, against each other."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A question whose thing is still open.

    Attributes:
        form: The words, with slots for the thing.
        partial: ``form`` asks for some of the objects: the slot it has says by what.
        span: Marked on the time line, in stream time.
        at_us: The second named, for ``Mention.AT``.
    """

    kind: Asked
    tongue: Tongue
    mention: Mention
    form: str
    partial: bool = False
    span: Span | None = None
    at_us: int | None = None


def draw_asking(
    random: Random, kind: Asked, tongue: Tongue, *, times_us: Sequence[int], now_us: int, mark: int
) -> Asking:
    """Return words for a question of a kind.

    Args:
        times_us: Stream times of the camera's frames so far, in UTC, oldest first.
        mark: How many frames a marked span holds, where there are so many.
    """
    words = WORDS[tongue]
    mentions = SINGLE_MENTIONS if kind in SINGLE_FRAME else SPAN_MENTIONS
    mention = random.choices(list(mentions), list(mentions.values()))[0]
    partial = kind is Asked.HOW_MANY and random.random() < _OPEN
    form = random.choice(words.some_forms if partial else words.forms[kind])
    if "{when}" not in form and mention is not Mention.MARKED:
        mention = Mention.NOTHING
    when, at_us = _when(random, words, mention, times_us[0], now_us)
    span = _marked(random, times_us, now_us, mark) if mention is Mention.MARKED else None
    return Asking(kind, tongue, mention, form.replace("{when}", when), partial, span, at_us)


def put_question(random: Random, asking: Asking, watched: Watched) -> AskedQuestion | None:
    """Return the question about what the used frames show, with its true answer; None where it has no one answer."""
    words = WORDS[asking.tongue]
    target = _target(random, asking, watched)
    answer = true_answer(asking.kind, target, watched, words, clear=CLEAR_SHARE)
    if answer is None:
        return None
    return AskedQuestion(asking.kind, asking.tongue, target, fill(asking.form, target, words), answer)


def views_of(
    truth: SceneTruth, moments: Sequence[UsedMoment], times_us: Sequence[int], at_us: int | None
) -> tuple[Watched, ...]:
    """Return what used frames show: all of them, or as seen at each frame of a named second.

    Where no frame lies in that second, the newest before it counts: nothing moved since.

    Args:
        times_us: Stream times of the frames.
        at_us: The second named.
    """
    if at_us is None:
        return (Watched(truth, moments),) if moments else ()
    until = [n for n, t_us in enumerate(times_us) if t_us < at_us + SECOND_US]
    inside = [n for n in until if times_us[n] >= at_us] or until[-1:]
    return tuple(Watched(truth, moments[: n + 1]) for n in inside)


def answer_again(question: AskedQuestion, watched: Watched) -> AskedQuestion | None:
    """Return the same question with what other frames answer; None where they give no one answer."""
    answer = true_answer(question.kind, question.target, watched, WORDS[question.tongue], clear=CLEAR_SHARE)
    return None if answer is None else replace(question, answer=answer)


def put_follow_up(
    random: Random, kind: Asked, before: AskedQuestion, thing: SceneObject, watched: Watched
) -> AskedQuestion | None:
    """Return a question that says "it" for the thing of the question before; None where it has no one answer."""
    words = WORDS[before.tongue]
    target = target_of(kind, thing)
    answer = true_answer(kind, target, watched, words, clear=CLEAR_SHARE)
    if answer is None:
        return None
    return AskedQuestion(kind, before.tongue, target, random.choice(words.follow_forms[kind]), answer)


def thing_of(question: AskedQuestion, watched: Watched) -> SceneObject | None:
    """Return the one thing that a question was about, for "it"; None where there is no such thing."""
    if question.kind not in (Asked.COLOUR, Asked.SHAPE, Asked.WHERE, Asked.THERE):
        return None
    found = [thing for thing in watched.things() if question.target.matches(thing)]
    return found[0] if len(found) == 1 else None


def _target(random: Random, asking: Asking, watched: Watched) -> Target:
    by_colour = "{colour}" in asking.form
    if asking.kind is Asked.SHAPE or (asking.partial and by_colour):
        return Target(colour=_look(random, watched)[0])
    if asking.kind is Asked.COLOUR or asking.partial:
        return Target(shape=_look(random, watched)[1])
    if asking.kind not in ABOUT_BOTH:
        return WHOLE
    if asking.kind in (Asked.APPEARED, Asked.LEFT) and random.random() < _OPEN:
        return _changed(random, asking.kind, watched) or Target(*_look(random, watched))
    return Target(*_look(random, watched))


def _look(random: Random, watched: Watched) -> tuple[ThingColour, ThingShape]:
    """Return the looks of a thing, mostly of one that is there."""
    things = watched.ever()
    if things and random.random() >= ABSENT:
        thing = random.choice(things)
        return thing.colour, thing.shape
    return random.choice(list(ThingColour)), random.choice(list(ThingShape))


def _changed(random: Random, kind: Asked, watched: Watched) -> Target | None:
    """Return a thing that came, or left, within the used frames."""
    at = watched.appeared if kind is Asked.APPEARED else watched.left
    things = [thing for thing in watched.ever() if at(thing) is not None]
    if not things:
        return None
    thing = random.choice(things)
    return Target(thing.colour, thing.shape)


def _when(
    random: Random, words: Words, mention: Mention, first_us: int, now_us: int
) -> tuple[str, int | None]:
    """Return words about time, and the second that they name where they name one."""
    first_s, now_s = -(-first_us // SECOND_US), now_us // SECOND_US
    match mention:
        case Mention.NOTHING | Mention.MARKED:
            return "", None
        case Mention.NOW:
            return random.choice([w for w in words.now if w and "{" not in w]), None
        case Mention.JUST_NOW:
            return random.choice([w for w in words.over if w and "{" not in w]), None
        case Mention.LAST:
            return _one(words.over, "{n}").replace("{n}", str(random.choice(_LASTS))), None
        case Mention.AT:
            at_s = random.randint(first_s + 1, max(first_s + 1, now_s - 1))
            return _one(words.now, "{at}").replace("{at}", _clock(at_s)), at_s * SECOND_US
        case Mention.BETWEEN:
            start_s = random.randint(first_s, max(first_s, now_s - 4))
            end_s = random.randint(start_s + 3, max(start_s + 3, min(now_s, start_s + 15)))
            between = _one(words.over, "{to}").replace("{from}", _clock(start_s))
            return between.replace("{to}", _clock(end_s)), None
        case Mention.SINCE:
            since = next(w for w in words.over if "{from}" in w and "{to}" not in w)
            return since.replace("{from}", _clock(max(first_s, now_s - random.randint(4, 15)))), None


def _marked(random: Random, times_us: Sequence[int], now_us: int, count: int) -> Span:
    """Return a span that holds ``count`` neighbouring frames, its ends anywhere between frames."""
    count = min(count, len(times_us))
    first = random.randint(0, len(times_us) - count)
    edges = (times_us[0] - SECOND_US, *times_us, now_us)
    start_us = random.randint(edges[first] + 1, edges[first + 1])
    end_us = random.randint(edges[first + count] + 1, max(edges[first + count] + 1, edges[first + count + 1]))
    return Span(start_us, end_us)


def _one(ways: Sequence[str], slot: str) -> str:
    return next(way for way in ways if slot in way)


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}"
