"""Which pieces of the picture are the same thing as before. Pure: reads stream time only."""

from dataclasses import dataclass

import numpy as np

from core.records import ObjectTrack
from sampler.blobs import Blob, Box, Labels
from sampler.plane import Mask
from sampler.track import Sighting, Trail

PATIENCE_US = 1_000_000
CONFIRM_US = 300_000
CONFIRM_FRAMES = 3
DOUBT_US = 500_000
YOUNG_US = 1_500_000
MIN_WAY = 0.035
STAY_US = 1_000_000
REPORT_US = 1_000_000
JOIN_PX = 5.0
REACH_PX = 4.0


@dataclass(frozen=True, slots=True)
class Scene:
    """What one frame shows: the pieces in front of the background, numbered in ``labels``."""

    t_us: int
    blobs: tuple[Blob, ...]
    labels: Labels
    front: Mask
    moved: Mask


class TrackKeeper:
    """Follow things from arrival to departure and say so in records.

    A track starts at a piece that moves and is believed once it has moved in three frames over 0.3 s and has
    got somewhere, or has moved in place for a second. It follows the moving piece where one splits; what is
    left lying behind belongs to nobody. It ends at the first frame without it, once it has not been seen for a second.
    """

    def __init__(self) -> None:
        self._trails: list[Trail] = []
        self._held: list[Trail] = []
        self._reported: dict[int, int] = {}
        self._number = 0
        self._now_us = 0

    @property
    def trails(self) -> tuple[Trail, ...]:
        """What is being followed, believed or not."""
        return tuple(self._trails)

    def push(self, scene: Scene, *, believe: bool = True) -> tuple[ObjectTrack, ...]:
        """Follow everything into one more frame; return the records to store.

        With ``believe`` False, nothing new is reported yet; it is later, also what has ended meanwhile,
        unless ``forget_unbelieved`` comes first.
        """
        self._now_us = scene.t_us
        claims = self._claims(scene)
        seen: set[int] = set()
        for trail in list(self._trails):
            sighting = self._sight(trail, scene, claims, seen)
            if sighting is not None:
                trail.see(sighting)
            else:
                trail.miss(scene.t_us)
        self._begin(scene, seen)
        return self._fold_fragments(scene.t_us) + self._report(scene.t_us, believe)

    def release(self, region: Mask) -> tuple[ObjectTrack, ...]:
        """End what stands in ``region``, which is background from now on, at its last movement."""
        ended = [t for t in self._trails if _covered(t.last.box, region) > 0.5]
        return self._close(ended, still=True)

    def forget_unbelieved(self) -> None:
        """Drop what has not been reported: the whole picture changed, it was no thing."""
        self._trails = [trail for trail in self._trails if trail.confirmed]
        self._held.clear()

    def finish(self) -> tuple[ObjectTrack, ...]:
        """End everything: what is seen now, now."""
        return self._close(list(self._trails), still=False)

    # ------------------------------------------------------------ which piece belongs to whom

    def _claims(self, scene: Scene) -> dict[int, list[Trail]]:
        """Return for each blob the trails that may be it."""
        claims: dict[int, list[Trail]] = {}
        for blob in scene.blobs:
            takers = [t for t in self._trails if _near(t, scene.t_us, blob.box)]
            believed = [t for t in takers if t.confirmed]
            claims[blob.label] = believed or takers
        return claims

    def _sight(
        self, trail: Trail, scene: Scene, claims: dict[int, list[Trail]], seen: set[int]
    ) -> Sighting | None:
        """Return what ``trail`` looks like now, and note the blobs that are explained by it."""
        expected = trail.predicted(scene.t_us)
        own = [b for b in scene.blobs if trail in claims[b.label]]
        if not own:
            return None
        main = max(own, key=lambda b: _fit(b, expected, trail))
        shared = [other for other in claims[main.label] if other is not trail]
        if shared:
            seen.add(main.label)
            return _part(trail, shared, main, scene)
        box, area, moving = main.box, main.area, main.moving
        seen.add(main.label)
        for blob in sorted(own, key=lambda b: box.distance(b.box)):
            if blob is main or len(claims[blob.label]) > 1 or box.distance(blob.box) > JOIN_PX:
                continue
            if main.moving and not blob.moving and not trail.last.box.overlap(blob.box):
                continue
            box, area, moving = box.union(blob.box), area + blob.area, moving + blob.moving
            seen.add(blob.label)
        return Sighting(scene.t_us, box, area, moving)

    def _begin(self, scene: Scene, seen: set[int]) -> None:
        height, width = scene.labels.shape
        for blob in scene.blobs:
            if blob.label not in seen and blob.moving >= 3:
                first = Sighting(scene.t_us, blob.box, blob.area, blob.moving)
                self._trails.append(Trail(first, width=width, height=height))

    def _fold_fragments(self, t_us: int) -> tuple[ObjectTrack, ...]:
        """End young trails that turn out to be pieces of a larger one, as when somebody turns around."""
        folded = []
        for young in self._trails:
            for old in self._trails:
                if old is young or old in folded or not old.last.t_us == young.last.t_us == t_us:
                    continue
                inside = young.last.box.overlap(old.last.box) / max(young.last.box.area, 1.0)
                if inside > 0.7 and _is_fragment(young, old, t_us):
                    folded.append(young)
                    break
        return self._close(folded, still=False)

    # ------------------------------------------------------------ what is said of it

    def _report(self, t_us: int, believe: bool) -> tuple[ObjectTrack, ...]:
        over = [trail for trail in self._trails if self._is_over(trail, t_us)]
        if not believe:
            self._held += [trail for trail in over if not trail.confirmed and _believable(trail)]
        found = list(self._close(over, still=False))
        if not believe:
            return tuple(found) + self._progress(t_us)
        for trail in self._held + [t for t in self._trails if not t.confirmed and _believable(t)]:
            self._number += 1
            trail.confirmed, trail.number = True, self._number
        found += [trail.record(open_=False, end_us=trail.gone_us, gone=True) for trail in self._held]
        self._held.clear()
        return tuple(found) + self._progress(t_us)

    def _progress(self, t_us: int) -> tuple[ObjectTrack, ...]:
        due = [
            trail
            for trail in self._trails
            if trail.confirmed and t_us - self._reported.get(trail.number, -REPORT_US) >= REPORT_US
        ]
        self._reported |= {trail.number: t_us for trail in due}
        return tuple(trail.record(open_=True, end_us=trail.last.t_us) for trail in due)

    def _is_over(self, trail: Trail, t_us: int) -> bool:
        if not trail.confirmed and t_us - trail.last_moving.t_us > DOUBT_US:
            return True
        patience_us = PATIENCE_US if trail.confirmed and not trail.leaving() else PATIENCE_US // 2
        return t_us - trail.last.t_us > patience_us or (trail.confirmed and trail.drop_what_lies(t_us))

    def _close(self, trails: list[Trail], *, still: bool) -> tuple[ObjectTrack, ...]:
        ended = []
        for trail in trails:
            self._trails.remove(trail)
            if trail.confirmed:
                self._reported.pop(trail.number, None)
                end_us = trail.last_moving.t_us if still else trail.gone_us
                gone = still or trail.last.t_us < self._now_us
                ended.append(trail.record(open_=False, end_us=end_us, gone=gone))
        return tuple(ended)


def _is_fragment(young: Trail, old: Trail, t_us: int) -> bool:
    if young.confirmed and (not old.confirmed or t_us - young.first.t_us > YOUNG_US):
        return False
    return old.first.t_us <= young.first.t_us and old.last.area > young.last.area


def _near(trail: Trail, t_us: int, box: Box) -> bool:
    speed = float(np.hypot(*trail.velocity))
    seconds = min(0.5, (t_us - trail.last.t_us) / 1e6)
    return trail.predicted(t_us).grown(REACH_PX + 0.5 * speed * seconds).overlap(box) > 0


def _fit(blob: Blob, expected: Box, trail: Trail) -> float:
    """Return how well a blob continues a trail; a piece that moves is preferred to one left behind."""
    likeness = max(blob.box.likeness(expected), blob.box.likeness(trail.last.box))
    return likeness + 0.5 * min(1.0, 4 * blob.moving / max(blob.area, 1))


def _part(trail: Trail, others: list[Trail], blob: Blob, scene: Scene) -> Sighting | None:
    """Return the part of a shared blob that lies nearest to where ``trail`` should be."""
    ys, xs = np.nonzero((scene.labels == blob.label) & (scene.front > 0))
    if not len(xs):
        return None
    mine = _remoteness(trail.predicted(scene.t_us), xs, ys)
    nearest = np.ones(len(xs), dtype=bool)
    for other in others:
        nearest &= mine <= _remoteness(other.predicted(scene.t_us), xs, ys)
    if not nearest.any():
        return None
    xs, ys = xs[nearest], ys[nearest]
    box = Box(float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1))
    return Sighting(scene.t_us, box, len(xs), int(np.count_nonzero(scene.moved[ys, xs])))


def _remoteness(box: Box, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """Return each pixel's distance from the box's centre, in half sides of the box."""
    x, y = box.centre
    across = np.abs(xs - x) / max((box.right - box.left) / 2, 2.0)
    along = np.abs(ys - y) / max((box.bottom - box.top) / 2, 2.0)
    return np.asarray(np.maximum(across, along))


def _covered(box: Box, region: Mask) -> float:
    part = region[
        max(0, int(box.top)) : max(1, int(np.ceil(box.bottom))),
        max(0, int(box.left)) : max(1, int(np.ceil(box.right))),
    ]
    return float(np.count_nonzero(part)) / max(part.size, 1)


def _believable(trail: Trail) -> bool:
    lasted_us = trail.last_moving.t_us - trail.first.t_us
    if trail.moving_frames < CONFIRM_FRAMES or lasted_us < CONFIRM_US:
        return False
    return trail.way() >= MIN_WAY or lasted_us >= STAY_US
