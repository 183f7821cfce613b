"""The true answer to a question of the toy world, or none where people would not agree. Pure."""

from dataclasses import dataclass

from models.builtin.cells import zone_of
from models.builtin.things import ThingColour, ThingShape
from models.builtin.truth import SceneObject
from models.builtin.watched import Watched, Way
from models.builtin.wording import Asked, Words

CLEAR_SHARE = 0.03
"""Places nearer to a border between two thirds are not asked about in training; the bench asks from 0.05 on."""

_MOST_CHANGES = 6


@dataclass(frozen=True, slots=True)
class Target:
    """What a question is about: a colour, a shape, both, or everything."""

    colour: ThingColour | None = None
    shape: ThingShape | None = None

    def matches(self, thing: SceneObject) -> bool:
        return self.colour in (None, thing.colour) and self.shape in (None, thing.shape)


def true_answer(
    kind: Asked, target: Target, watched: Watched, words: Words, *, clear: float = CLEAR_SHARE
) -> str | None:
    """Return the answer, worded; None where the question has no one answer.

    Args:
        target: For ``COLOUR`` a shape, for ``SHAPE`` a colour, for ``HOW_MANY`` any, for ``SEE``, ``MOVED``,
            ``HAPPENED`` and ``TIME`` nothing, else both.
    """
    answer = _Answer(watched, words, clear)
    match kind:
        case Asked.HOW_MANY:
            found = answer.how_many(target)
        case Asked.SEE:
            found = answer.see()
        case Asked.MOVED:
            found = answer.moved()
        case Asked.HAPPENED:
            found = answer.happened()
        case Asked.TIME:
            found = answer.time()
        case Asked.COLOUR | Asked.SHAPE | Asked.WHERE | Asked.THERE:
            found = answer.about_now(kind, target)
        case Asked.WAY | Asked.APPEARED | Asked.LEFT:
            found = answer.about_span(kind, target)
    return None if found is None else _capital(found)


class _Answer:
    def __init__(self, watched: Watched, words: Words, clear: float) -> None:
        self._watched, self._words, self._clear = watched, words, clear

    def how_many(self, target: Target) -> str | None:
        if self._watched.murky():
            return None
        count = sum(target.matches(thing) for thing in self._watched.things())
        return self._say("count", count=self._words.counts[count])

    def see(self) -> str | None:
        things = self._watched.things()
        if self._watched.murky() or any(self._watched.off_border(thing) < self._clear for thing in things):
            return None
        seen = [self._say("seen", a_thing=self._a(thing), zone=self._zone(thing)) for thing in things]
        if not seen:
            return self._say("seen_nothing")
        return self._words.answers["seen_join"].join(seen) + self._words.answers["seen_end"]

    def moved(self) -> str | None:
        ways = {thing: self._watched.way(thing) for thing in self._watched.ever()}
        if len(self._watched.moments) < 2 or None in ways.values():
            return None
        moved = [
            self._say("moved", thing=self._name(thing), way=self._words.ways[way])
            for thing in self._watched.movers()
            if (way := ways[thing]) is not None
        ]
        if len(moved) > 2:
            return None
        return self._words.answers["moved_join"].join(moved) or self._say("moved_nothing")

    def happened(self) -> str | None:
        changes = self._watched.changes()
        if len(changes) > _MOST_CHANGES:
            return None
        said = [
            _capital(
                self._say(
                    "came" if change.came else "went",
                    label=self._watched.moments[change.at].label,
                    thing=self._name(change.thing),
                    a_thing=self._a(change.thing),
                )
            )
            for change in changes
        ]
        return self._words.answers["happened_join"].join(said) or self._say("happened_nothing")

    def time(self) -> str:
        return self._say("at", label=self._watched.moments[-1].label)

    def about_now(self, kind: Asked, target: Target) -> str | None:
        found = [thing for thing in self._watched.things() if target.matches(thing)]
        if not found:
            murky = any(
                self._watched.truth.visible_share(t, self._watched.moments[-1].t_us) > 0
                for t in self._all(target)
            )
            return None if murky else self._unseen(kind, target)
        if len(found) > 1:
            return None
        thing = found[0]
        match kind:
            case Asked.COLOUR:
                return self._say("colour", colour=self._words.colours[thing.colour])
            case Asked.SHAPE:
                return self._say("shape", a_shape=self._words.a(self._words.shapes[thing.shape]))
            case _ if self._watched.off_border(thing) < self._clear:
                return None
            case Asked.WHERE:
                return self._say("where", zone=self._zone(thing))
            case _:
                return self._say("there", zone=self._zone(thing))

    def about_span(self, kind: Asked, target: Target) -> str | None:
        found = [thing for thing in self._watched.ever() if target.matches(thing)]
        if not found:
            return None if any(map(target.matches, self._watched.glimpsed())) else self._unseen(kind, target)
        if len(found) > 1:
            return None
        thing = found[0]
        if kind is Asked.WAY:
            way = self._watched.way(thing)
            if way is None:
                return None
            return self._say("stood") if way is Way.NOWHERE else self._say("way", way=self._words.ways[way])
        at = self._watched.appeared(thing) if kind is Asked.APPEARED else self._watched.left(thing)
        if at is None:
            return self._say("from_start" if kind is Asked.APPEARED else "still")
        return self._say("at", label=self._watched.moments[at].label)

    def _all(self, target: Target) -> list[SceneObject]:
        return [thing for thing in self._watched.truth.objects if target.matches(thing)]

    def _unseen(self, kind: Asked, target: Target) -> str:
        if target.shape is None:
            assert target.colour is not None, "a question about everything has an answer"
            return self._say("not_seen_colour", colour=self._words.colours[target.colour])
        if target.colour is None:
            return self._say("not_seen", a_thing=self._words.a(self._words.shapes[target.shape]))
        name = self._words.thing(target.colour, target.shape)
        return self._say("not_there" if kind is Asked.THERE else "not_seen", a_thing=self._words.a(name))

    def _name(self, thing: SceneObject) -> str:
        return self._words.thing(thing.colour, thing.shape)

    def _a(self, thing: SceneObject) -> str:
        return self._words.a(self._name(thing))

    def _zone(self, thing: SceneObject) -> str:
        return self._words.zone(*zone_of(self._watched.spot(thing)))

    def _say(self, what: str, **slots: str) -> str:
        return self._words.answers[what].format(**slots)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
