"""Small scenes made by hand, for tests of the toy world."""

from models.builtin.things import Ground, ThingColour, ThingShape
from models.builtin.truth import PathKnot, SceneObject, SceneTruth
from models.builtin.watched import UsedMoment, Watched

SECOND = 1_000_000


def thing(
    number: int,
    colour: str = "red",
    shape: str = "circle",
    *,
    at: tuple[float, float] = (0.5, 0.5),
    to: tuple[float, float] | None = None,
    comes_s: float = 0,
    leaves_s: float | None = None,
    moves_s: tuple[float, float] = (0, 4),
) -> SceneObject:
    """Return an object that stands ``at`` a place, or moves ``to`` another between two times."""
    path = [PathKnot(int(moves_s[0] * SECOND), *at)]
    if to is not None:
        path.append(PathKnot(int(moves_s[1] * SECOND), *to))
    leaves_us = None if leaves_s is None else int(leaves_s * SECOND)
    return SceneObject(
        number, ThingColour(colour), ThingShape(shape), 0.12, int(comes_s * SECOND), leaves_us, tuple(path)
    )


def scene(*things: SceneObject, seconds: int = 10) -> SceneTruth:
    """Return a scene of these objects."""
    return SceneTruth(640, 360, Ground.PLAIN, seconds * SECOND, things)


def watched(*things: SceneObject, frames_s: tuple[float, ...] = (0, 1, 2, 3, 4)) -> Watched:
    """Return a scene as seen at these seconds, labelled from 14:03:00 on."""
    moments = [UsedMoment(int(s * SECOND), f"[14:03:{int(s):02d}]") for s in frames_s]
    return Watched(scene(*things), moments)
