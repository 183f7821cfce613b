"""What somebody who sees only the used frames can know of a scene: the ground on which answers are judged. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from models.builtin.architecture import PICTURES
from models.builtin.cells import cell_of, kind_order
from models.builtin.truth import SceneObject, SceneTruth, Spot
from models.pictures import fit_cells

LABEL = re.compile(r"\[(?:\d{4}-\d\d-\d\d )?(\d\d):(\d\d):(\d\d)(?:\.(\d))?\]")
"""A frame's label: hour, minute, second, and the tenth where it has one."""

SEEN_SHARE = 0.5
"""An object counts as seen from the frame on in which half of it is in the picture."""

_MURKY = (0.08, 0.85)
_MOVED, _STOOD, _MAIN = 0.12, 0.02, 1.8


class Way(StrEnum):
    """Which way a thing moved across the picture."""

    LEFT = "left"
    RIGHT = "right"
    UP = "up"
    DOWN = "down"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class UsedMoment:
    """One used frame: its time in the scene, and its label with brackets."""

    t_us: int
    label: str


@dataclass(frozen=True, slots=True)
class Change:
    """A thing that appeared or left, with the label of the first frame that shows it."""

    thing: SceneObject
    came: bool
    at: int


def seen_count(truth: SceneTruth, t_us: int) -> int:
    """Return how many objects are seen at a time of the scene."""
    return sum(truth.visible_share(thing, t_us) >= SEEN_SHARE for thing in truth.objects)


class Watched:
    """A scene as its used frames show it."""

    def __init__(self, truth: SceneTruth, moments: Sequence[UsedMoment]) -> None:
        if not moments:
            raise ValueError("nothing can be known of no frames")
        self.truth, self.moments = truth, tuple(moments)
        self._cells = fit_cells(truth.width_px, truth.height_px, PICTURES)
        self._shares = [
            {thing.number: truth.visible_share(thing, moment.t_us) for thing in truth.objects}
            for moment in moments
        ]

    def until(self, at: int) -> "Watched":
        """Return what was known when used frame ``at`` was the last."""
        return Watched(self.truth, self.moments[: at + 1])

    def things(self, at: int = -1) -> tuple[SceneObject, ...]:
        """Return what is seen in a used frame, as one reads."""
        found = [thing for thing in self.truth.objects if self.seen(thing, at)]
        return tuple(sorted(found, key=lambda thing: self._reading_order(thing, self.spot(thing, at))))

    def ever(self) -> tuple[SceneObject, ...]:
        """Return what is seen in any used frame."""
        return tuple(thing for thing in self.truth.objects if self._frames_with(thing))

    def seen(self, thing: SceneObject, at: int = -1) -> bool:
        return self._shares[at][thing.number] >= SEEN_SHARE

    def spot(self, thing: SceneObject, at: int = -1) -> Spot:
        return thing.spot(self.moments[at].t_us)

    def shown_at(self, change: Change) -> Spot:
        """Return where a change shows: at the thing, or in the first frame without it at the place where it was."""
        return self.spot(change.thing, change.at if change.came else change.at - 1)

    def murky(self, at: int = -1) -> bool:
        """Return whether some object is half out of the picture, so that people would count differently."""
        low, high = _MURKY
        return any(low < share < high for share in self._shares[at].values())

    def glimpsed(self) -> Iterator[SceneObject]:
        """Yield everything of which anything is in any used frame."""
        for thing in self.truth.objects:
            if any(shares[thing.number] > 0 for shares in self._shares):
                yield thing

    def off_border(self, thing: SceneObject, at: int = -1) -> float:
        """Return how far its centre lies from the nearest border between two thirds, as a share of the picture."""
        return min(abs(share - border) for share in self.spot(thing, at) for border in (1 / 3, 2 / 3))

    def appeared(self, thing: SceneObject) -> int | None:
        """Return the first used frame that shows it; None where it was there from the start, or never."""
        frames = self._frames_with(thing)
        return frames[0] if frames and frames[0] > 0 else None

    def left(self, thing: SceneObject) -> int | None:
        """Return the first used frame without it after it was seen; None where it is still there, or never was."""
        frames = self._frames_with(thing)
        return frames[-1] + 1 if frames and frames[-1] + 1 < len(self.moments) else None

    def changes(self) -> tuple[Change, ...]:
        """Return what appeared and left, oldest first; within one frame as one reads."""
        found: list[Change] = []
        for thing in self.truth.objects:
            if (at := self.appeared(thing)) is not None:
                found.append(Change(thing, True, at))
            if (at := self.left(thing)) is not None:
                found.append(Change(thing, False, at))
        return tuple(
            sorted(
                found,
                key=lambda change: (change.at, self._reading_order(change.thing, self.shown_at(change))),
            )
        )

    def last_seen(self, thing: SceneObject) -> int:
        """Return the last used frame that shows a thing that was seen."""
        return self._frames_with(thing)[-1]

    def movers(self) -> tuple[SceneObject, ...]:
        """Return what moved one way, by kind."""
        moved = [thing for thing in self.ever() if self.way(thing) not in (None, Way.NOWHERE)]
        return tuple(sorted(moved, key=kind_order))

    def way(self, thing: SceneObject, *, until: int | None = None) -> Way | None:
        """Return which way it moved over the used frames before ``until``; None where people would not agree."""
        frames = [at for at in self._frames_with(thing) if until is None or at < until]
        spots = [self._square(self.spot(thing, at)) for at in frames]
        if len(spots) < 2:
            return None
        steps = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(spots)]
        across, down = (sum(step[axis] for step in steps) for axis in (0, 1))
        gone = sum(abs(step[0]) + abs(step[1]) for step in steps)
        if gone < _STOOD:
            return Way.NOWHERE
        most, least = max(abs(across), abs(down)), min(abs(across), abs(down))
        if most < _MOVED or most < _MAIN * least or most + least < 0.85 * gone:
            return None
        if abs(across) > abs(down):
            return Way.RIGHT if across > 0 else Way.LEFT
        return Way.DOWN if down > 0 else Way.UP

    def _reading_order(self, thing: SceneObject, spot: Spot) -> tuple[int, tuple[int, int]]:
        """Return what is listed by: cell by cell as one reads, as the text part meets them."""
        return cell_of(spot, self._cells), kind_order(thing)

    def _frames_with(self, thing: SceneObject) -> list[int]:
        return [at for at in range(len(self.moments)) if self.seen(thing, at)]

    def _square(self, spot: Spot) -> tuple[float, float]:
        """Return a place in short sides of the picture, so that both axes count alike."""
        short = min(self.truth.width_px, self.truth.height_px)
        return spot.x * self.truth.width_px / short, spot.y * self.truth.height_px / short
