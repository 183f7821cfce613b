"""Draws questions about a watched scene, each with its true answer, in any form of the documented list. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from models.builtin.answering import CLEAR_SHARE, Target, true_answer
from models.builtin.things import ThingColour, ThingShape
from models.builtin.truth import SceneObject
from models.builtin.watched import Watched
from models.builtin.wording import SINGLE_FRAME, Asked, Tongue, Words
from models.builtin.wording_en import ENGLISH
from models.builtin.wording_zh import CHINESE
from models.prompt import Turn

WORDS = {Tongue.EN: ENGLISH, Tongue.ZH: CHINESE}

_TIMED = 0.5
"""So many packs ask for the time: copying a label is learnt late, and needs all the practice there is."""

_HARDER = frozenset({Asked.HOW_MANY, Asked.SEE, Asked.MOVED, Asked.HAPPENED})
"""Kinds about everything at once are drawn twice as often: they are learnt last, and give fewer different questions."""

_ABSENT = 0.26
_FOLLOWS = 0.12
_TRIES = 60
ABOUT_BOTH = frozenset({Asked.WHERE, Asked.THERE, Asked.WAY, Asked.APPEARED, Asked.LEFT})
"""Kinds about a thing of a colour and a shape."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question with its true answer.

    Attributes:
        history: What "it" refers to.
        last: The used frame that counts as the last one, from the end where negative.
    """

    kind: Asked
    tongue: Tongue
    target: Target
    text: str
    answer: str
    history: tuple[Turn, ...] = ()
    last: int = -1


def draw_question(
    random: Random, watched: Watched, kind: Asked, tongue: Tongue, *, clear: float = CLEAR_SHARE
) -> AskedQuestion | None:
    """Return a question of a kind, or None where this scene gives none."""
    words = WORDS[tongue]
    when = ""
    if any("{when}" in form for form in words.forms[kind]):
        when, watched = _when(random, watched, kind, words)
    target = _draw_target(random, watched, kind)
    answer = true_answer(kind, target, watched, words, clear=clear)
    if answer is None:
        return None
    forms = words.forms[kind]
    if kind is Asked.HOW_MANY and target != Target():
        slot = "{shapes}" if target.colour is None else "{colour}"
        forms = tuple(form for form in words.some_forms if slot in form)
    text = fill(random.choice(forms).replace("{when}", when), target, words)
    return AskedQuestion(kind, tongue, target, _careless(random, text), answer, last=len(watched.moments) - 1)


def draw_follow_up(
    random: Random, watched: Watched, tongue: Tongue, *, clear: float = CLEAR_SHARE
) -> AskedQuestion | None:
    """Return a question about "it", behind a question and answer that say what it is."""
    words = WORDS[tongue]
    things = watched.things() or watched.ever()
    if not things:
        return None
    thing = random.choice(things)
    first = random.choice((Asked.COLOUR, Asked.SHAPE, Asked.WHERE, Asked.THERE))
    about = target_of(first, thing)
    then = random.choice([kind for kind in words.follow_forms if kind is not first])
    if len(watched.moments) < 2 and then not in SINGLE_FRAME:
        return None
    about_then = target_of(then, thing)
    answer_first = true_answer(first, about, watched, words, clear=clear)
    answer_then = true_answer(then, about_then, watched, words, clear=clear)
    if answer_first is None or answer_then is None:
        return None
    turn = Turn(fill(random.choice(words.forms[first]).replace("{when}", ""), about, words), answer_first)
    text = _careless(random, random.choice(words.follow_forms[then]))
    return AskedQuestion(then, tongue, about_then, text, answer_then, (turn,))


def target_of(kind: Asked, thing: SceneObject) -> Target:
    """Return what a question of a kind about one thing names: not what it asks for."""
    match kind:
        case Asked.COLOUR:
            return Target(shape=thing.shape)
        case Asked.SHAPE:
            return Target(colour=thing.colour)
        case _:
            return Target(thing.colour, thing.shape)


def draw_pack(
    random: Random, watched: Watched, count: int, *, clear: float = CLEAR_SHARE
) -> list[AskedQuestion]:
    """Return ``count`` questions of mixed kinds about one scene, a full description among them where it has one."""
    found: list[AskedQuestion] = []
    texts: set[str] = set()
    for question in _endless(random, watched, clear):
        if question is not None and question.text not in texts:
            texts.add(question.text)
            found.append(question)
        if len(found) >= count:
            break
    return found


def draw_conversations(random: Random, questions: Sequence[AskedQuestion]) -> list[tuple[AskedQuestion, ...]]:
    """Return the questions as people ask them: half of all packs one by one, the others in talks of up to five."""
    most = 1 if random.random() < 0.5 else 5
    found: list[tuple[AskedQuestion, ...]] = []
    rest = list(questions)
    random.shuffle(rest)
    while rest:
        count = random.randint(1, most)
        found.append(tuple(rest[:count]))
        rest = rest[count:]
    return found


def _endless(random: Random, watched: Watched, clear: float) -> Iterator[AskedQuestion | None]:
    """Yield questions, None for each that came to nothing; ends after too many of those."""
    several = len(watched.moments) > 1
    yield draw_question(random, watched, Asked.SEE, random.choice(list(Tongue)), clear=clear)
    if random.random() < _TIMED:
        yield draw_question(random, watched, Asked.TIME, random.choice(list(Tongue)), clear=clear)
    single, over = (
        [kind for kind in sorted(kinds) for _ in range(1 + (kind in _HARDER))]
        for kinds in (SINGLE_FRAME, set(Asked) - SINGLE_FRAME)
    )
    for _ in range(_TRIES):
        tongue = random.choice(list(Tongue))
        if random.random() < _FOLLOWS:
            yield draw_follow_up(random, watched, tongue, clear=clear)
        else:
            kinds = over if random.random() < (0.65 if several else 0.04) else single
            yield draw_question(random, watched, random.choice(kinds), tongue, clear=clear)


def _draw_target(random: Random, watched: Watched, kind: Asked) -> Target:
    if kind is Asked.HOW_MANY:
        return random.choice(
            (
                Target(),
                Target(),
                Target(colour=_colour(random, watched)),
                Target(shape=_shape(random, watched)),
            )
        )
    if kind is Asked.COLOUR:
        return Target(shape=_shape(random, watched))
    if kind is Asked.SHAPE:
        return Target(colour=_colour(random, watched))
    if kind not in ABOUT_BOTH:
        return Target()
    things = watched.ever()
    changed = [
        thing for thing in things if watched.appeared(thing) is not None or watched.left(thing) is not None
    ]
    if kind in (Asked.APPEARED, Asked.LEFT) and changed and random.random() < 0.6:
        things = tuple(changed)
    if not things or random.random() < _ABSENT:
        return Target(_colour(random, watched), _shape(random, watched))
    thing = random.choice(things)
    return Target(thing.colour, thing.shape)


def _colour(random: Random, watched: Watched) -> ThingColour:
    """Return a colour, three times in four one that is there."""
    here = [thing.colour for thing in watched.ever()]
    return random.choice(here) if here and random.random() < 0.75 else random.choice(list(ThingColour))


def _shape(random: Random, watched: Watched) -> ThingShape:
    here = [thing.shape for thing in watched.ever()]
    return random.choice(here) if here and random.random() < 0.75 else random.choice(list(ThingShape))


def _when(random: Random, watched: Watched, kind: Asked, words: Words) -> tuple[str, Watched]:
    """Return words about time, and what they are about.

    "At 14:03:05" in a question about one frame means the newest used frame that is not after that second.
    """
    single = kind in SINGLE_FRAME
    form = random.choice(words.now if single else words.over)
    clocks = [clock_of(moment.label) for moment in watched.moments]
    first, last = watched.moments[0], watched.moments[-1]
    ago = 1 + (last.t_us - first.t_us) // 1_000_000
    seconds = min((n for n in (2, 5, 10, 15, 20, 30, 60) if n >= ago), default=60)
    at, newest = _second(random, clocks)
    slots = {"{at}": at, "{from}": clocks[0], "{to}": clocks[-1], "{n}": str(seconds)}
    about = watched.until(newest) if single and "{at}" in form else watched
    for slot, text in slots.items():
        form = form.replace(slot, text)
    return form, about


def _second(random: Random, clocks: Sequence[str]) -> tuple[str, int]:
    """Return a second of the frames' time, with the newest used frame that is not after it.

    People name any second; on a quiet scene about half of them have no frame.
    """
    count = len(clocks)
    at = count - 1 - clocks[::-1].index(random.choice(clocks))
    day_s = [_seconds_of_day(clock) for clock in clocks]
    until_next = (day_s[at + 1] - day_s[at]) % 86_400 if at + 1 < count else 1
    named = (day_s[at] + random.randrange(max(1, until_next))) % 86_400
    return f"{named // 3600:02d}:{named // 60 % 60:02d}:{named % 60:02d}", at


def _seconds_of_day(clock: str) -> int:
    hours, minutes, seconds = map(int, clock.split(":"))
    return hours * 3600 + minutes * 60 + seconds


def clock_of(label: str) -> str:
    """Return the HH:MM:SS in a label."""
    found = re.search(r"\d\d:\d\d:\d\d", label)
    assert found is not None, "labels are written by the service"
    return found.group()


def fill(form: str, target: Target, words: Words) -> str:
    """Return a form with its thing in place."""
    slots: dict[str, str] = {}
    if target.colour is not None:
        slots["{colour}"] = words.colours[target.colour]
    if target.shape is not None:
        slots |= {"{shape}": words.shapes[target.shape], "{shapes}": words.plurals[target.shape]}
    if target.colour is not None and target.shape is not None:
        name = words.thing(target.colour, target.shape)
        slots |= {"{thing}": name, "{a thing}": words.a(name)}
    for slot, text in slots.items():
        form = form.replace(slot, text)
    return form


def _careless(random: Random, text: str) -> str:
    """Return the text as people type it: now and then without its mark or its capital."""
    if random.random() < 0.12:
        text = text.rstrip("?.？。")
    if random.random() < 0.12:
        text = text[0].lower() + text[1:]
    return text
