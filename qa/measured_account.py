"""What moved in a span: single things, and activities of things that moved together. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.records import ObjectTrack, PathPoint, Record
from core.spans import Span

TOGETHER_US = 1_000_000
"""Things that follow one another within this time are one activity."""

RESUME_US = 2_000_000
NEAR = 0.2
PIECE_SIZE = 0.35
STALE_US = 5_000_000


@dataclass(frozen=True, slots=True)
class Activity:
    """Things that moved at the same time, in the order they came."""

    things: tuple[ObjectTrack, ...]

    @property
    def start_us(self) -> int:
        return self.things[0].start_us

    @property
    def end_us(self) -> int:
        return max(thing.end_us for thing in self.things)

    @property
    def open(self) -> bool:
        return any(thing.open for thing in self.things)


def activities_of(records: Iterable[Record], span: Span, *, seen_us: int) -> tuple[Activity, ...]:
    """Return what moved in the span, oldest first.

    A track that is still open in its record although the camera has been looked at long after it was last
    seen (``seen_us``) was never closed, and counts as ended.
    """
    tracks = sorted(
        (
            replace(record, open=False) if record.open and record.end_us < seen_us - STALE_US else record
            for record in records
            if isinstance(record, ObjectTrack) and record.start_us < span.end_us
        ),
        key=lambda track: (track.start_us, track.number),
    )
    things = _without_pieces(_resumed([t for t in tracks if t.end_us >= span.start_us]))
    groups: list[list[ObjectTrack]] = []
    end_us = 0
    for thing in things:
        if groups and thing.start_us <= end_us + TOGETHER_US:
            groups[-1].append(thing)
            end_us = max(end_us, thing.end_us)
        else:
            groups.append([thing])
            end_us = thing.end_us
    return tuple(Activity(tuple(group)) for group in groups)


def most_at_once(things: Sequence[ObjectTrack]) -> int:
    """Return the largest number of things that were there at the same time."""
    edges = sorted([(t.start_us, 1) for t in things] + [(t.end_us, -1) for t in things])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def _resumed(tracks: Sequence[ObjectTrack]) -> list[ObjectTrack]:
    """Join tracks where one ends inside the picture and another begins there shortly after."""
    things: list[ObjectTrack] = []
    for track in tracks:
        for n, earlier in enumerate(things):
            if _continues(earlier, track):
                things[n] = replace(
                    earlier,
                    end_us=max(earlier.end_us, track.end_us),
                    open=track.open,
                    left=track.left,
                    direction=earlier.direction or track.direction,
                    size=max(earlier.size, track.size),
                    colour=earlier.colour or track.colour,
                    path=earlier.path + track.path,
                )
                break
        else:
            things.append(track)
    return things


def _continues(earlier: ObjectTrack, later: ObjectTrack) -> bool:
    if earlier.open or earlier.left is not None or later.entered is not None:
        return False
    if not -300_000 <= later.start_us - earlier.end_us <= RESUME_US:
        return False
    return _apart(earlier.path[-1], later.path[0]) < NEAR if earlier.path and later.path else False


def _without_pieces(things: Sequence[ObjectTrack]) -> list[ObjectTrack]:
    """Leave out what is only a piece of something larger that was followed at the same time and place."""
    return [t for t in things if not any(_is_piece(t, other) for other in things if other is not t)]


def _is_piece(piece: ObjectTrack, whole: ObjectTrack) -> bool:
    within = (
        whole.start_us - 500_000 <= piece.start_us
        and piece.end_us <= whole.end_us + 500_000
        and piece.end_us - piece.start_us < whole.end_us - whole.start_us
    )
    if not within or piece.size >= PIECE_SIZE * whole.size or not piece.path or not whole.path:
        return False
    return all(_apart(point, _where(whole.path, point.t_us)) < NEAR for point in piece.path)


def _where(path: Sequence[PathPoint], t_us: int) -> PathPoint:
    return min(path, key=lambda point: abs(point.t_us - t_us))


def _apart(one: PathPoint, other: PathPoint) -> float:
    return float(((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5)
