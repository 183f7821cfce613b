"""The toy world itself: objects that stand, move, appear and leave, decided from a seed alone. Pure.

Every object always has a leg to go (or stands where its last leg ended), and a new leg is begun only where it
comes too near to nobody's leg. So objects never cover one another, and nothing has to be undone.
"""

import math
from dataclasses import dataclass, field
from random import Random

from models.builtin.things import MOST_OBJECTS, RADIUS_RANGE, Ground, ThingColour, ThingShape
from models.builtin.truth import PathKnot, SceneObject, SceneTruth, Spot

SECOND_US = 1_000_000
_SAME_AGAIN_US = 90 * SECOND_US
"""A thing that left does not come back sooner, so that "the red circle" means one thing within a window."""

_TRIES = 24
_APART = 1.15
_OFF_BORDER = 0.06


@dataclass(frozen=True, slots=True)
class _Leg:
    start_us: int
    end_us: int
    start: Spot
    end: Spot

    def at(self, t_us: int) -> Spot:
        if t_us >= self.end_us:
            return self.end
        share = max(0.0, (t_us - self.start_us) / (self.end_us - self.start_us))
        return Spot(
            self.start.x + (self.end.x - self.start.x) * share,
            self.start.y + (self.end.y - self.start.y) * share,
        )


@dataclass(slots=True)
class _Living:
    number: int
    colour: ThingColour
    shape: ThingShape
    radius: float
    appears_us: int
    leg: _Leg
    path: list[PathKnot] = field(default_factory=list)
    leaves_us: int | None = None

    def frozen(self) -> SceneObject:
        return SceneObject(
            self.number,
            self.colour,
            self.shape,
            self.radius,
            self.appears_us,
            self.leaves_us,
            tuple(self.path),
        )


class World:
    """An endless scene; ``advance`` it, then ask what there is.

    The same seed and size give the same world, in however many steps it is advanced.
    """

    def __init__(self, seed: int, *, width_px: int, height_px: int, ground: Ground | None = None) -> None:
        self._random = Random(f"world {seed}")
        self._width = width_px / min(width_px, height_px)
        self._height = height_px / min(width_px, height_px)
        self._size_px = (width_px, height_px)
        self.ground = ground or self._random.choice(list(Ground))
        self._pace_us = int(self._random.uniform(1.0, 3.5) * SECOND_US)
        self._living: list[_Living] = []
        self._gone: list[_Living] = []
        self._count = 0
        for _ in range(self._random.randint(0, MOST_OBJECTS)):
            self._pop(0)
        self._next_us = self._wait(0)

    def advance(self, to_us: int) -> None:
        """Decide everything that begins before ``to_us``."""
        while self._next_us < to_us:
            now = self._next_us
            self._bury(now)
            self._act(now)
            self._next_us = self._wait(now)

    def objects(self) -> tuple[SceneObject, ...]:
        """Return every object so far, those to come in legs already begun included."""
        return tuple(thing.frozen() for thing in (*self._gone, *self._living))

    def forget(self, before_us: int) -> None:
        """Drop objects that left before ``before_us``, so that an endless world stays small."""
        keep_us = before_us - _SAME_AGAIN_US
        self._gone = [thing for thing in self._gone if thing.leaves_us is None or thing.leaves_us >= keep_us]

    def truth(self, duration_us: int) -> SceneTruth:
        """Return what happens in ``[0, duration_us)``."""
        self.advance(duration_us)
        objects = tuple(thing for thing in self.objects() if thing.appears_us < duration_us)
        ordered = tuple(sorted(objects, key=lambda thing: thing.number))
        return SceneTruth(*self._size_px, self.ground, duration_us, ordered)

    def _wait(self, now_us: int) -> int:
        return now_us + int(self._pace_us * (0.35 + min(4.0, self._random.expovariate(1.0)) * 0.8))

    def _bury(self, now_us: int) -> None:
        for thing in [t for t in self._living if t.leaves_us is not None and t.leaves_us <= now_us]:
            self._living.remove(thing)
            self._gone.append(thing)

    def _act(self, now_us: int) -> None:
        staying = [thing for thing in self._living if thing.leaves_us is None]
        free = [t for t in staying if t.leg.end_us <= now_us and now_us - t.appears_us >= SECOND_US]
        wanted = self._random.randint(0, MOST_OBJECTS)
        if wanted > len(staying) and len(self._living) < MOST_OBJECTS:
            self._pop(now_us) if self._random.random() < 0.5 else self._enter(now_us)
        elif wanted < len(staying) and free:
            self._go(self._random.choice(free), now_us)
        elif free:
            self._move(self._random.choice(free), now_us)

    def _pop(self, now_us: int) -> None:
        colour, shape, radius = self._new_looks(now_us)
        for _ in range(_TRIES):
            spot = self._any_spot(radius)
            leg = _Leg(now_us, now_us, spot, spot)
            if self._clear(leg, radius, None):
                self._add(colour, shape, radius, leg)
                return

    def _enter(self, now_us: int) -> None:
        colour, shape, radius = self._new_looks(now_us)
        for _ in range(_TRIES):
            end = self._any_spot(radius)
            leg = self._leg(now_us, self._outside(end, radius), end)
            if self._clear(leg, radius, None):
                self._add(colour, shape, radius, leg)
                return

    def _go(self, thing: _Living, now_us: int) -> None:
        if self._random.random() < 0.5:
            thing.leaves_us = now_us
            return
        for _ in range(_TRIES):
            leg = self._leg(now_us, thing.leg.end, self._outside(thing.leg.end, thing.radius))
            if self._clear(leg, thing.radius, thing):
                self._send(thing, leg)
                thing.leaves_us = leg.end_us
                return

    def _move(self, thing: _Living, now_us: int) -> None:
        for _ in range(_TRIES):
            start, away = thing.leg.end, self._random.uniform(0.22, 0.7)
            side = self._random.uniform(-0.2, 0.2) * away
            step_x, step_y = self._random.choice(((away, side), (-away, side), (side, away), (side, -away)))
            end = Spot(start.x + step_x, start.y + step_y)
            if not self._inside(end, thing.radius):
                continue
            leg = self._leg(now_us, start, end)
            if self._clear(leg, thing.radius, thing):
                self._send(thing, leg)
                return

    def _add(self, colour: ThingColour, shape: ThingShape, radius: float, leg: _Leg) -> None:
        self._count += 1
        thing = _Living(self._count, colour, shape, radius, leg.start_us, leg)
        self._living.append(thing)
        self._send(thing, leg)

    def _send(self, thing: _Living, leg: _Leg) -> None:
        thing.leg = leg
        for t_us, spot in ((leg.start_us, leg.start), (leg.end_us, leg.end)):
            if not thing.path or t_us > thing.path[-1].t_us:
                thing.path.append(PathKnot(t_us, spot.x, spot.y))

    def _new_looks(self, now_us: int) -> tuple[ThingColour, ThingShape, float]:
        taken = {(thing.colour, thing.shape) for thing in self._living}
        taken |= {
            (t.colour, t.shape) for t in self._gone if t.leaves_us and now_us - t.leaves_us < _SAME_AGAIN_US
        }
        looks = [(colour, shape) for colour in ThingColour for shape in ThingShape]
        free = [pair for pair in looks if pair not in taken] or looks
        colour, shape = self._random.choice(free)
        return colour, shape, self._random.uniform(*RADIUS_RANGE)

    def _any_spot(self, radius: float) -> Spot:
        """Return a place wholly inside; five times in six one that nobody would call two ways."""
        while True:
            spot = Spot(self._random.random(), self._random.random())
            if not self._inside(spot, radius):
                continue
            off = min(abs(share - border) for share in spot for border in (1 / 3, 2 / 3))
            if off >= _OFF_BORDER or self._random.random() < 1 / 6:
                return spot

    def _inside(self, spot: Spot, radius: float) -> bool:
        across, down = radius * 1.05 / self._width, radius * 1.05 / self._height
        return across <= spot.x <= 1 - across and down <= spot.y <= 1 - down

    def _outside(self, spot: Spot, radius: float) -> Spot:
        """Return a place just outside, straight across from ``spot`` or a little aslant."""
        across, down = radius * 1.2 / self._width, radius * 1.2 / self._height
        slant = self._random.uniform(-0.08, 0.08)
        return self._random.choice(
            (
                Spot(-across, spot.y + slant),
                Spot(1 + across, spot.y + slant),
                Spot(spot.x + slant, -down),
                Spot(spot.x + slant, 1 + down),
            )
        )

    def _leg(self, now_us: int, start: Spot, end: Spot) -> _Leg:
        far = math.hypot((end.x - start.x) * self._width, (end.y - start.y) * self._height)
        speed = self._random.uniform(0.2, 0.7)  # short sides per second
        return _Leg(now_us, now_us + max(1, int(far / speed * SECOND_US)), start, end)

    def _clear(self, leg: _Leg, radius: float, mine: _Living | None) -> bool:
        """Return whether a leg, and standing at its end, comes too near to no other object's leg."""
        for other in self._living:
            if other is mine:
                continue
            end_us = max(leg.end_us, other.leg.end_us)
            apart = (radius + other.radius) * _APART
            for step in range(33):
                t_us = leg.start_us + (end_us - leg.start_us) * step // 32
                a, b = leg.at(t_us), other.leg.at(t_us)
                if math.hypot((a.x - b.x) * self._width, (a.y - b.y) * self._height) < apart:
                    return False
        return True
