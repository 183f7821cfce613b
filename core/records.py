"""What the window says about a camera besides frames: gaps, unchanged spans, things that moved, clocks.

A record is stored under ``key``; storing another one with the same key replaces it, so that a gap can be
closed and an object track can grow. Records are facts about time; they outlive the frames around them.
"""

from dataclasses import dataclass
from enum import StrEnum


class GapReason(StrEnum):
    """Why nothing was seen."""

    UNREACHABLE = "unreachable"  # no connection to the camera
    STALLED = "stalled"  # connected, but silent
    AUTH_FAILED = "auth_failed"
    NO_VIDEO = "no_video_track"
    DAMAGED = "damaged"  # packets came, none could be decoded
    ENDED = "ended"  # the source came to its end
    DISABLED = "disabled"
    SERVICE_STOPPED = "service_stopped"  # livelens itself was not running


class EpochClock(StrEnum):
    """Where an epoch's times come from."""

    MEDIA = "media"
    ARRIVAL = "arrival"


class Side(StrEnum):
    """A side of the picture."""

    LEFT = "left"
    RIGHT = "right"
    TOP = "top"
    BOTTOM = "bottom"


class Direction(StrEnum):
    """Which way a thing moved across the picture."""

    LEFT = "left"
    RIGHT = "right"
    UP = "up"
    DOWN = "down"


class Colour(StrEnum):
    """Rough colours, as a person would call them from a distance."""

    BLACK = "black"
    GREY = "grey"
    WHITE = "white"
    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"
    BROWN = "brown"


class SceneChangeKind(StrEnum):
    """Changes of the whole picture."""

    LIGHT_ON = "light_on"
    LIGHT_OFF = "light_off"
    CAMERA_MOVED = "camera_moved"
    CAMERA_COVERED = "camera_covered"
    CAMERA_UNCOVERED = "camera_uncovered"


@dataclass(frozen=True, slots=True)
class Gap:
    """No frames from ``start_us`` on; ``end_us`` is None while it lasts."""

    start_us: int
    end_us: int | None
    reason: GapReason

    @property
    def key(self) -> str:
        return f"gap:{self.start_us}"


@dataclass(frozen=True, slots=True)
class StaticSpan:
    """Nothing moved from ``start_us`` to ``end_us``, the last frame that confirmed it."""

    start_us: int
    end_us: int

    @property
    def key(self) -> str:
        return f"static:{self.start_us}"


@dataclass(frozen=True, slots=True)
class EpochStart:
    """A new unbroken connection, or a restarted stream clock, began at ``start_us``."""

    start_us: int
    epoch: int
    clock: EpochClock
    restarted_clock: bool = False

    @property
    def key(self) -> str:
        return f"epoch:{self.start_us}"

    @property
    def end_us(self) -> int:
        return self.start_us


@dataclass(frozen=True, slots=True)
class PathPoint:
    """Where an object track was: centre as shares of width and height from the top left corner."""

    t_us: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ObjectTrack:
    """One thing that moved, followed from arrival to departure. Measured, never named.

    Attributes:
        number: Counts the camera's tracks since the process began; part of the key.
        start_us, end_us: Arrival, and departure or the last time it was seen.
        open: It is still there.
        entered, left: The side of the picture it came in by and went out by; None means inside the picture.
        direction: The main way it went; None where it stayed about the same place.
        size: Largest share of the picture it covered, 0 to 1.
        colour: Rough colour, or None where it is mixed.
        path: A few points from first to last, at most 16.
    """

    number: int
    start_us: int
    end_us: int
    open: bool
    entered: Side | None
    left: Side | None
    direction: Direction | None
    size: float
    colour: Colour | None
    path: tuple[PathPoint, ...]

    @property
    def key(self) -> str:
        return f"track:{self.start_us}:{self.number}"


@dataclass(frozen=True, slots=True)
class SceneChange:
    """The whole picture changed at ``start_us``: a light, a push, a cover."""

    start_us: int
    kind: SceneChangeKind

    @property
    def key(self) -> str:
        return f"scene:{self.start_us}:{self.kind}"

    @property
    def end_us(self) -> int:
        return self.start_us


Record = Gap | StaticSpan | EpochStart | ObjectTrack | SceneChange
