"""Scenes as a camera's viewer gets them, for the accuracy bench: H.264 and back, then the product's own sampler.

    seed ──World──▶ SceneTruth ──Painter──▶ H.264 ──▶ Sampler ──▶ RecordedScene: shots at the model's size, records

Made in a process of its own; what comes back is small.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from core.frames import Frame, KeepReason
from core.ids import CameraId
from core.records import Record
from models.builtin.architecture import PICTURES
from models.builtin.scenes import DrawnFrame, draw, kind_of, scene_truth, through_h264
from models.builtin.seeds import BENCH
from models.builtin.things import MOST_OBJECTS
from models.builtin.truth import SceneTruth
from models.builtin.watched import seen_count
from models.builtin.world import SECOND_US
from models.pictures import fit_cells
from sampler import Sampler

CAMERA = CameraId("bench")
RATES = (5, 8, 10)
_WORLD_S = 60
_LENGTHS_S = (8, 8, 8, 14, 14, 14, 20, 20, 34, 34)
_FIRST_DAY_US = 1_780_000_000 * SECOND_US
_DAYS_US = 300 * 86_400 * SECOND_US
_TRIES = 32
_SETTLED_US = 600_000


@dataclass(frozen=True, slots=True)
class Shot:
    """A ``core.frames.Picture`` of one kept frame that holds just the size which the model asks for.

    Attributes:
        pixels: uint8 (height, width, 3).
    """

    t_us: int
    reason: KeepReason
    motion: float
    width_px: int
    height_px: int
    pixels: NDArray[np.uint8]

    def luma(self) -> NDArray[np.uint8]:
        """Return mean brightness at the model's size."""
        return np.asarray(self.pixels.mean(axis=2), dtype=np.uint8)

    def rgb(self, width_px: int, height_px: int) -> NDArray[np.uint8]:
        """Return the pixels. Raises ValueError for another size than the model's."""
        if self.pixels.shape[:2] != (height_px, width_px):
            raise ValueError(f"a shot holds {self.pixels.shape}, asked for {width_px} × {height_px}")
        return self.pixels


@dataclass(frozen=True, slots=True)
class RecordedScene:
    """What the product's sampler kept of one scene.

    Attributes:
        start_us: Stream time of the truth's time 0.
        end_us: Stream time of the last moment seen: "now" for every question about it.
    """

    truth: SceneTruth
    start_us: int
    end_us: int
    shots: tuple[Shot, ...]
    records: tuple[Record, ...]


def own_scene(number: int) -> RecordedScene:
    """Return the bench's scene of a number: a stretch of a world, up to a moment with as many objects as its number says.

    Five numbers in a row end with no, one, two, three and four objects; worlds that never have so many are passed over.
    Takes a second or two.
    """
    random = Random(f"bench scene {number}")
    length_us = random.choice(_LENGTHS_S) * SECOND_US
    seed, end_us = _stretch(random, number, number % (MOST_OBJECTS + 1), length_us)
    kind = kind_of(seed)
    truth = scene_truth(seed, _WORLD_S * SECOND_US, kind=kind)
    fps = random.choice(RATES)
    times = range(end_us - length_us, end_us, SECOND_US // fps)
    start_us = _FIRST_DAY_US + random.randrange(_DAYS_US)
    return record(truth, draw(seed, truth, times), fps=fps, crf=kind.crf, start_us=start_us)


def record(
    truth: SceneTruth, frames: Iterable[DrawnFrame], *, fps: int, crf: int, start_us: int
) -> RecordedScene:
    """Return what the sampler keeps of drawn frames after H.264. Records are as they stand at the last frame."""
    sampler = Sampler()
    cells = fit_cells(truth.width_px, truth.height_px, PICTURES)
    size = (cells.columns * PICTURES.cell_px, cells.rows * PICTURES.cell_px)
    shots: list[Shot] = []
    records: dict[str, Record] = {}
    last_us = 0
    for t_us, picture in through_h264(frames, fps=fps, crf=crf):
        last_us = t_us
        pushed = sampler.push(Frame(CAMERA, start_us + t_us, 0, picture))
        records |= {item.key: item for item in pushed.records}
        if (kept := pushed.sample) is not None:
            pixels = picture.rgb(*size)
            shots.append(
                Shot(kept.t_us, kept.reason, kept.motion, picture.width_px, picture.height_px, pixels)
            )
    end_us = start_us + last_us + SECOND_US // fps
    return RecordedScene(truth, start_us, end_us, tuple(shots), tuple(records.values()))


def _stretch(random: Random, number: int, wanted: int, length_us: int) -> tuple[int, int]:
    """Return the seed of a world, and a time of it at which so many objects are seen and have been for a while."""
    for seed in range(BENCH + number * _TRIES, BENCH + (number + 1) * _TRIES):
        truth = scene_truth(seed, _WORLD_S * SECOND_US)
        found = [
            end_us
            for end_us in range(length_us, truth.duration_us, SECOND_US // 4)
            if {seen_count(truth, end_us - ago_us) for ago_us in (1, _SETTLED_US)} == {wanted}
        ]
        if found:
            break
    return seed, random.choice(found) if found else random.randrange(length_us, truth.duration_us)
