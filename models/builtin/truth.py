"""What really happens in a scene: which objects, where, from when to when. The published form is JSON.

    {"schema": "livelens.scene-truth/1", "picture": {"width_px": 640, "height_px": 360, "ground": "plain"},
     "duration_us": 60000000,
     "objects": [{"id": 1, "colour": "red", "shape": "circle", "radius": 0.12,
                  "appears_us": 0, "leaves_us": null,
                  "path": [{"t_us": 0, "x": 0.5, "y": 0.5}, {"t_us": 1500000, "x": 0.8, "y": 0.5}]}]}

Times count from the first frame. Between two points of a path an object moves evenly; before the first and after
the last it stands. ``x`` and ``y`` are shares of width and height from the top left corner, and may lie outside.
"""

import json
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from models.builtin.things import Ground, ThingColour, ThingShape

SCHEMA = "livelens.scene-truth/1"
SCHEMA_FILE = Path(__file__).with_name("scene-truth.schema.json")
"""The JSON Schema of the published form."""


class BadTruth(ValueError):
    """A truth document that does not say what the schema wants said."""


class Spot(NamedTuple):
    """A centre, as shares of width and height."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class PathKnot:
    """Where an object's centre is at one instant."""

    t_us: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class SceneObject:
    """One object from its appearance to its leaving.

    Attributes:
        number: Its id within the scene.
        radius: As a share of the picture's short side.
        appears_us, leaves_us: It is drawn in ``[appears_us, leaves_us)``; None while it stays.
        path: At least one knot, times growing.
    """

    number: int
    colour: ThingColour
    shape: ThingShape
    radius: float
    appears_us: int
    leaves_us: int | None
    path: tuple[PathKnot, ...]

    def present(self, t_us: int) -> bool:
        """Return whether it is drawn at ``t_us``, be it outside the picture."""
        return self.appears_us <= t_us and (self.leaves_us is None or t_us < self.leaves_us)

    def spot(self, t_us: int) -> Spot:
        """Return its centre at ``t_us``."""
        after = bisect_right(self.path, t_us, key=lambda knot: knot.t_us)
        if after == 0:
            return Spot(self.path[0].x, self.path[0].y)
        before = self.path[after - 1]
        if after == len(self.path):
            return Spot(before.x, before.y)
        then = self.path[after]
        share = (t_us - before.t_us) / (then.t_us - before.t_us)
        return Spot(before.x + (then.x - before.x) * share, before.y + (then.y - before.y) * share)


@dataclass(frozen=True, slots=True)
class SceneTruth:
    """Everything that happens in ``[0, duration_us)`` of one scene."""

    width_px: int
    height_px: int
    ground: Ground
    duration_us: int
    objects: tuple[SceneObject, ...]

    def visible_share(self, thing: SceneObject, t_us: int) -> float:
        """Return which share of the object's square lies inside the picture, 0 to 1; 0 where it is not present."""
        if not thing.present(t_us):
            return 0.0
        x, y = thing.spot(t_us)
        short = min(self.width_px, self.height_px)
        reach_x, reach_y = thing.radius * short / self.width_px, thing.radius * short / self.height_px
        wide = min(1.0, x + reach_x) - max(0.0, x - reach_x)
        high = min(1.0, y + reach_y) - max(0.0, y - reach_y)
        return max(0.0, wide) * max(0.0, high) / (4 * reach_x * reach_y)

    def mirrored(self) -> "SceneTruth":
        """Return the same scene with left and right changed over; every shape looks the same in a mirror."""
        return replace(self, objects=tuple(_mirrored(thing) for thing in self.objects))

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {
            "schema": SCHEMA,
            "picture": {"width_px": self.width_px, "height_px": self.height_px, "ground": self.ground.value},
            "duration_us": self.duration_us,
            "objects": [_object_to_json(thing) for thing in self.objects],
        }


def _mirrored(thing: SceneObject) -> SceneObject:
    return replace(thing, path=tuple(replace(knot, x=1 - knot.x) for knot in thing.path))


def write_truth(path: Path, truth: SceneTruth) -> None:
    """Write the published form to ``path``."""
    path.write_text(json.dumps(truth.to_json(), indent=1) + "\n")


def read_truth(path: Path) -> SceneTruth:
    """Read the published form, by whomever it was written. Raises BadTruth."""
    try:
        return truth_from_json(json.loads(path.read_text()))
    except (OSError, json.JSONDecodeError) as error:
        raise BadTruth(f"{path.name} cannot be read: {error}") from None


def truth_from_json(value: Any) -> SceneTruth:
    """Return the truth that a parsed document tells. Raises BadTruth."""
    if not isinstance(value, Mapping) or value.get("schema") != SCHEMA:
        raise BadTruth(f"this is no {SCHEMA} document")
    try:
        picture = value["picture"]
        return SceneTruth(
            width_px=int(picture["width_px"]),
            height_px=int(picture["height_px"]),
            ground=Ground(picture.get("ground", Ground.PLAIN)),
            duration_us=int(value["duration_us"]),
            objects=tuple(_object_from_json(thing) for thing in value["objects"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadTruth(f"the truth makes no sense: {error!r}") from None


def _object_to_json(thing: SceneObject) -> dict[str, Any]:
    return {
        "id": thing.number,
        "colour": thing.colour.value,
        "shape": thing.shape.value,
        "radius": round(thing.radius, 4),
        "appears_us": thing.appears_us,
        "leaves_us": thing.leaves_us,
        "path": [{"t_us": knot.t_us, "x": round(knot.x, 4), "y": round(knot.y, 4)} for knot in thing.path],
    }


def _object_from_json(value: Mapping[str, Any]) -> SceneObject:
    path = tuple(PathKnot(int(knot["t_us"]), float(knot["x"]), float(knot["y"])) for knot in value["path"])
    if not path or any(b.t_us <= a.t_us for a, b in pairwise(path)):
        raise ValueError("a path needs a knot, and its times must grow")
    leaves = value["leaves_us"]
    return SceneObject(
        number=int(value["id"]),
        colour=ThingColour(value["colour"]),
        shape=ThingShape(value["shape"]),
        radius=float(value["radius"]),
        appears_us=int(value["appears_us"]),
        leaves_us=None if leaves is None else int(leaves),
        path=path,
    )
