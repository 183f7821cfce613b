"""Everything that is said about the picture of one camera, frame by frame. Synchronous, stream time only."""

from dataclasses import dataclass

import cv2
import numpy as np

from core.errors import ServiceError
from core.frames import Picture
from core.records import Record, SceneChange
from sampler.background import Background, Difference
from sampler.blobs import Blob, find_blobs
from sampler.colour import Rgb
from sampler.leftovers import StillThings
from sampler.motion import Motion, MotionMeter
from sampler.plane import Mask, Plane, small_plane
from sampler.track import Trail
from sampler.tracks import Scene, TrackKeeper
from sampler.upheaval import SceneWatch

COLOUR_EVERY_US = 400_000
COLOUR_ROUNDS = 8
TRAVELS = 0.15
EMPTY_RGB_EVERY_US = 10_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """What one frame showed: the share that moved, whether the whole picture changed, records to store."""

    share: float
    scene_changed: bool
    records: tuple[Record, ...]


class Watcher:
    """Keeps background, tracks and changes of the whole picture together, for pictures of one size."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        shape = (size[1], size[0])
        self._meter = MotionMeter(shape)
        self._background = Background(shape)
        self._still = StillThings(shape)
        self._tracks = TrackKeeper()
        self._scene = SceneWatch()
        self._empty_rgb: Rgb | None = None
        self._empty_us = 0
        self._colour_us = 0

    @property
    def trails(self) -> tuple[Trail, ...]:
        """What is being followed, believed or not; for looking at, not for changing."""
        return self._tracks.trails

    def push(self, t_us: int, picture: Picture) -> Seen:
        """Look at one frame."""
        plane = small_plane(picture, self.size)
        motion = self._meter.push(t_us, plane)
        background = self._background
        difference = background.compare(plane)
        was_unsettled = self._scene.unsettled
        verdict = self._scene.push(
            t_us,
            plane,
            past=motion.past,
            background=background.reference,
            difference=difference,
            moved_share=motion.share,
        )
        records: list[Record] = []
        if verdict is not None and verdict.change is not None:
            records += self._start_over(t_us, verdict.change, verdict.background)
            difference = background.compare(plane)
        records += self._follow(t_us, plane, picture, difference, motion)
        self._meter.learn(t_us, motion, self._passing(plane.shape))
        began = self._scene.unsettled and not was_unsettled
        return Seen(motion.share, began or verdict is not None, tuple(records))

    def finish(self) -> tuple[Record, ...]:
        """End all tracks where they were last seen; the background stays for the next epoch."""
        self._meter.reset()
        self._scene.reset()
        return self._tracks.finish()

    def _follow(
        self, t_us: int, plane: Plane, picture: Picture, difference: Difference, motion: Motion
    ) -> list[Record]:
        calm = not self._scene.unsettled and not self._scene.covered
        blobs, labels = find_blobs(difference.mask, motion.mask)
        scene = Scene(t_us, tuple(blobs), labels, difference.mask, motion.mask)
        records: list[Record] = list(self._tracks.push(scene, believe=calm))
        region = self._still.push(
            t_us,
            plane,
            difference=difference,
            blobs=blobs,
            labels=labels,
            moved=motion.mask,
            followed=self._followed(t_us, blobs),
        )
        if region is not None:
            records += self._tracks.release(region)
            self._background.absorb(region, plane, difference)
        elif not self._scene.unsettled:
            self._background.learn(t_us, plane, difference)
        self._look_at_colours(t_us, picture, difference, scene)
        return records

    def _start_over(self, t_us: int, change: SceneChange, background: Plane) -> list[Record]:
        """Begin with a new background, as the whole picture has changed."""
        self._tracks.forget_unbelieved()
        self._background.replace(background)
        self._still.reset(t_us)
        self._empty_rgb = None
        return [change, *self._tracks.finish()]

    def _followed(self, t_us: int, blobs: list[Blob]) -> set[int]:
        boxes = [
            trail.last.box for trail in self._tracks.trails if trail.confirmed and trail.last.t_us == t_us
        ]
        return {blob.label for blob in blobs if any(box.overlap(blob.box) > 0 for box in boxes)}

    def _passing(self, shape: tuple[int, ...]) -> Mask | None:
        """Return where things pass through, as told from something that stirs in its place."""
        travelling = [trail for trail in self._tracks.trails if trail.way() > TRAVELS]
        if not travelling:
            return None
        mask = np.zeros(shape, dtype=np.uint8)
        for trail in travelling:
            box = trail.last.box
            mask[max(0, int(box.top)) : int(box.bottom), max(0, int(box.left)) : int(box.right)] = 1
        return np.asarray(cv2.dilate(mask, np.ones((9, 9), dtype=np.uint8)), dtype=np.uint8)

    def _look_at_colours(self, t_us: int, picture: Picture, difference: Difference, scene: Scene) -> None:
        """Read the small colour picture, only while it is needed: it costs more than all the rest."""
        if not scene.blobs and t_us - self._empty_us >= EMPTY_RGB_EVERY_US:
            self._empty_rgb, self._empty_us = self._colours_of(picture), t_us
        wanting = [
            trail
            for trail in self._tracks.trails
            if trail.last.t_us == t_us and trail.moving_frames >= 3 and trail.colours.rounds < COLOUR_ROUNDS
        ]
        if not wanting or t_us - self._colour_us < COLOUR_EVERY_US:
            return
        self._colour_us = t_us
        rgb = self._colours_of(picture)
        if rgb is None:
            return
        for trail in wanting:
            trail.colours.add(rgb, _inside(trail, difference.mask), self._empty_rgb)

    def _colours_of(self, picture: Picture) -> Rgb | None:
        """Return the small colour picture, or None where it cannot be had."""
        try:
            return picture.rgb(*self.size)
        except ServiceError:
            return None


def _inside(trail: Trail, front: Mask) -> Mask:
    """Return the pixels of a trail, without their outermost ring, which the picture's scaling has mixed."""
    box = trail.last.box
    part = np.zeros_like(front)
    rows, columns = slice(int(box.top), int(box.bottom)), slice(int(box.left), int(box.right))
    part[rows, columns] = front[rows, columns]
    inner = np.asarray(cv2.erode(part, np.ones((3, 3), dtype=np.uint8)))
    return inner if np.count_nonzero(inner) >= 12 else part
