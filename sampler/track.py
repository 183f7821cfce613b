"""One thing that moves: where it came from, where it went, how large it was. Pure."""

from dataclasses import dataclass

from core.records import Direction, ObjectTrack, PathPoint, Side
from sampler.blobs import Box
from sampler.colour import ColourVote

EDGE_PX = 3.0
REACH_S = 0.4
MIN_SPEED = 2.0  # pixels of the plane per second
MIN_WAY = 0.12
MAX_POINTS = 16
LATE_US = 800_000
SOON_US = 250_000
LIES_US = 400_000
LEFT_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Sighting:
    """The thing in one frame: its box, how many pixels it covers and how many of them moved."""

    t_us: int
    box: Box
    area: int
    moving: int


class Trail:
    """All that is remembered of one thing. Its boxes are in pixels of a plane ``width`` by ``height``."""

    def __init__(self, first: Sighting, *, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.first = self.last = self.last_moving = first
        self.velocity = (0.0, 0.0)
        self.moving_frames = 1
        self.reach = first.box
        self.confirmed = False
        self.number = 0
        self._missed_us: int | None = None
        self.colours = ColourVote()
        self._largest = first.area
        self._early = [first]
        self._points = [first]
        self._late: list[Sighting] = [first]
        self._gone_by: frozenset[Side] = frozenset()

    def see(self, sighting: Sighting) -> None:
        """Take one more sighting."""
        seconds = (sighting.t_us - self.last.t_us) / 1e6
        if seconds > 0:
            (x1, y1), (x0, y0) = sighting.box.centre, self.last.box.centre
            weight = min(1.0, seconds / 0.3)
            self.velocity = (
                self.velocity[0] + ((x1 - x0) / seconds - self.velocity[0]) * weight,
                self.velocity[1] + ((y1 - y0) / seconds - self.velocity[1]) * weight,
            )
        self.last = sighting
        self._missed_us = None
        self._largest = max(self._largest, sighting.area)
        self.reach = self.reach.union(sighting.box)
        self._remember(sighting)
        if sighting.moving:
            self.last_moving = sighting
            self.moving_frames += 1

    def miss(self, t_us: int) -> None:
        """Note a frame in which it is not seen."""
        if self._missed_us is None:
            self._missed_us = t_us

    @property
    def gone_us(self) -> int:
        """When it went: the first frame without it, or where frames are far apart, soon after the last with it."""
        if self._missed_us is None:
            return self.last.t_us
        return min(self._missed_us, self.last.t_us + SOON_US)

    def predicted(self, t_us: int) -> Box:
        """Return where the thing should be by now."""
        seconds = min(0.5, (t_us - self.last.t_us) / 1e6)
        return self.last.box.moved(self.velocity[0] * seconds, self.velocity[1] * seconds)

    def way(self) -> float:
        """Return how far its centre has moved, in long sides of the picture."""
        (x1, y1), (x0, y0) = self.last.box.centre, self.first.box.centre
        return max(abs(x1 - x0), abs(y1 - y0)) / max(self.width, self.height)

    def record(self, *, open_: bool, end_us: int, gone: bool = False) -> ObjectTrack:
        """Return what is known so far. Only what is ``gone`` can have left over a side."""
        return ObjectTrack(
            number=self.number,
            start_us=self.first.t_us,
            end_us=max(end_us, self.first.t_us),
            open=open_,
            entered=self._entered(),
            left=self._left() if gone else None,
            direction=self._direction(),
            size=min(1.0, self._largest / (self.width * self.height)),
            colour=self.colours.result(),
            path=self._path(end_us),
        )

    def drop_what_lies(self, t_us: int) -> bool:
        """Return True where it has gone and only something it left lying is still seen; then forget that.

        It has gone when, just before all movement ended, it reached to a side of the picture, and what is
        left is much smaller, touches that side no more and has been still for LIES_US.
        """
        if t_us - self.last_moving.t_us < LIES_US or self.last.moving:
            return False
        for whole in reversed(self._late):
            touched = _touched(whole.box, self.width, self.height)
            gone = touched - _touched(self.last.box, self.width, self.height)
            if whole.t_us <= self.last_moving.t_us and gone and self.last.area < LEFT_SHARE * whole.area:
                self._gone_by = gone
                self.last = self.last_moving
                return True
        return False

    def leaving(self) -> bool:
        """Return whether it was last seen moving out over a side of the picture."""
        return self._left() is not None

    def _entered(self) -> Side | None:
        start = self._early[-1]
        return _side(self.first.box, self._speed(self.first, start, forward=False), self.width, self.height)

    def _left(self) -> Side | None:
        if self._gone_by:
            came = self._entered()
            return came if came in self._gone_by else min(self._gone_by)
        recent = [s for s in self._late if s.t_us <= self.last_moving.t_us]
        if not recent:
            return None
        return _side(
            recent[-1].box, self._speed(recent[0], recent[-1], forward=True), self.width, self.height
        )

    def _speed(self, before: Sighting, after: Sighting, *, forward: bool) -> tuple[float, float]:
        """Return pixels per second outward in time: away from the start when looking back."""
        seconds = max((after.t_us - before.t_us) / 1e6, 1e-3)
        sign = 1.0 if forward else -1.0
        (x1, y1), (x0, y0) = after.box.centre, before.box.centre
        return sign * (x1 - x0) / seconds, sign * (y1 - y0) / seconds

    def _direction(self) -> Direction | None:
        entered = self._entered()
        if entered is not None and entered is self._left():
            return None
        start = _mean_centre(self._early[:3])
        end = _mean_centre([s for s in self._late if s.t_us <= self.last_moving.t_us][-3:] or [self.last])
        dx, dy = end[0] - start[0], end[1] - start[1]
        if max(abs(dx), abs(dy)) < MIN_WAY * max(self.width, self.height):
            return None
        if abs(dx) >= abs(dy):
            return Direction.RIGHT if dx > 0 else Direction.LEFT
        return Direction.DOWN if dy > 0 else Direction.UP

    def _remember(self, sighting: Sighting) -> None:
        if sighting.t_us - self.first.t_us <= 600_000:
            self._early.append(sighting)
        if sighting.moving or len(self._late) < 2:
            self._late.append(sighting)
        while self.last_moving.t_us - self._late[0].t_us > LATE_US and len(self._late) > 2:
            self._late.pop(0)
        self._points.append(sighting)
        if len(self._points) > 8 * MAX_POINTS:
            del self._points[1:-1:2]

    def _path(self, end_us: int) -> tuple[PathPoint, ...]:
        points = [s for s in self._points if s.t_us <= end_us] or [self.first]
        if len(points) > MAX_POINTS:
            step = (len(points) - 1) / (MAX_POINTS - 1)
            points = [points[round(n * step)] for n in range(MAX_POINTS)]
        return tuple(
            PathPoint(s.t_us, _share(s.box.centre[0], self.width), _share(s.box.centre[1], self.height))
            for s in points
        )


def _share(at: float, whole: int) -> float:
    return round(min(1.0, max(0.0, at / whole)), 4)


def _mean_centre(sightings: list[Sighting]) -> tuple[float, float]:
    centres = [s.box.centre for s in sightings]
    return sum(x for x, _ in centres) / len(centres), sum(y for _, y in centres) / len(centres)


def _touched(box: Box, width: int, height: int) -> frozenset[Side]:
    gaps = {
        Side.LEFT: box.left,
        Side.TOP: box.top,
        Side.RIGHT: width - box.right,
        Side.BOTTOM: height - box.bottom,
    }
    return frozenset(side for side, gap in gaps.items() if gap <= EDGE_PX)


def _side(box: Box, outward: tuple[float, float], width: int, height: int) -> Side | None:
    """Return the side that ``box`` touches, or reaches within REACH_S at speed ``outward``; else None.

    Where it touches two sides, the one it moves toward counts, then the one it touches more of.
    """
    vx, vy = outward
    candidates = (
        (Side.LEFT, box.left, -vx, box.bottom - box.top),
        (Side.RIGHT, width - box.right, vx, box.bottom - box.top),
        (Side.TOP, box.top, -vy, box.right - box.left),
        (Side.BOTTOM, height - box.bottom, vy, box.right - box.left),
    )
    reached = [
        (speed + 0.1 * contact, side)
        for side, gap, speed, contact in candidates
        if speed > MIN_SPEED and gap <= max(EDGE_PX, speed * REACH_S)
    ]
    return max(reached)[1] if reached else None
