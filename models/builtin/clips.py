"""Recorded scenes for the language stages: what the product's own sampler keeps of a camera that shows the toy world.

scene ──H.264──▶ frames ──sampler──▶ kept frames, at the model's size, with times and static spans ──▶ one folder
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.frames import Frame
from core.ids import CameraId
from core.records import Record, StaticSpan
from models.builtin.architecture import PICTURES
from models.builtin.scenes import draw, frame_times, kind_of, scene_truth, through_h264
from models.builtin.seeds import for_training
from models.builtin.truth import SceneTruth, truth_from_json
from models.builtin.world import SECOND_US
from models.chat import Cells
from models.pictures import fit_cells

CAMERA = CameraId("toy")
_RATES = (5, 8, 10)
_SECONDS = 20
_DAY_US = 86_400 * SECOND_US


class Pushed(Protocol):
    """What a sampler makes of one frame."""

    @property
    def sample(self) -> Any: ...  # core.frames.Sample or None
    @property
    def records(self) -> tuple[Record, ...]: ...


class LooksAtFrames(Protocol):
    """A sampler, as the sampler package makes them."""

    def push(self, frame: Frame) -> Pushed: ...
    def finish(self) -> tuple[Record, ...]: ...


@dataclass(frozen=True, slots=True)
class Clip:
    """The kept frames of one scene.

    Attributes:
        start_us: Stream time of the scene's start; times in ``truth`` count from it.
        times_us: Stream time of each kept frame.
        pixels: uint8 (frames, height, width, 3), at the size that the model reads.
        still: Spans in which nothing moved, as (start, end) in stream time.
    """

    truth: SceneTruth
    start_us: int
    times_us: tuple[int, ...]
    pixels: NDArray[np.uint8]
    cells: Cells
    still: tuple[tuple[int, int], ...]

    def mirrored(self) -> "Clip":
        """Return the clip as a mirror shows it: another scene for training, for nothing."""
        return replace(self, truth=self.truth.mirrored(), pixels=self.pixels[:, :, ::-1])


def record_clip(seed: int, sampler: LooksAtFrames) -> Clip:
    """Return what ``sampler``, which must be new, keeps of the scene of a seed. Takes about a second.

    Raises SeedRefused for a scene of the bench.
    """
    random = Random(f"clip {for_training(seed)}")
    kind = kind_of(seed)
    part = random.choice((1, 2))
    kind = kind_of(seed, size=(kind.width_px // part, kind.height_px // part))
    truth = scene_truth(seed, _SECONDS * SECOND_US, kind=kind)
    cells = fit_cells(kind.width_px, kind.height_px, PICTURES)
    fps, start_us = random.choice(_RATES), random.randrange(_DAY_US // 24, _DAY_US - 2 * _SECONDS * SECOND_US)
    frames = draw(seed, truth, frame_times(truth.duration_us, fps))
    times: list[int] = []
    pixels: list[NDArray[np.uint8]] = []
    still: dict[int, int] = {}
    for t_us, picture in through_h264(frames, fps=fps, crf=kind.crf):
        pushed = sampler.push(Frame(CAMERA, start_us + t_us, 0, picture))
        still |= _still(pushed.records)
        if pushed.sample is not None:
            times.append(start_us + t_us)
            pixels.append(picture.rgb(cells.columns * PICTURES.cell_px, cells.rows * PICTURES.cell_px))
    still |= _still(sampler.finish())
    return Clip(truth, start_us, tuple(times), np.stack(pixels), cells, tuple(sorted(still.items())))


def _still(records: tuple[Record, ...]) -> dict[int, int]:
    return {record.start_us: record.end_us for record in records if isinstance(record, StaticSpan)}


class ClipBank:
    """A folder of clips by seed, so that each is made once and every stage can use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seeds(self) -> list[int]:
        """Return the seeds of the clips that are there, in order."""
        return sorted(int(path.stem) for path in self._folder.glob("*.json"))

    def write(self, seed: int, clip: Clip) -> None:
        """Add a clip; it is there whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        np.save(self._folder / f"{seed}.npy", clip.pixels)
        described = {
            "truth": clip.truth.to_json(),
            "start_us": clip.start_us,
            "times_us": clip.times_us,
            "cells": clip.cells,
            "still": clip.still,
        }
        fresh = self._folder / f"{seed}.new"
        fresh.write_text(json.dumps(described))
        fresh.replace(self._folder / f"{seed}.json")

    def read(self, seed: int) -> Clip:
        """Return a clip; its pixels stay on disk until they are looked at."""
        described = json.loads((self._folder / f"{seed}.json").read_text())
        return Clip(
            truth=truth_from_json(described["truth"]),
            start_us=described["start_us"],
            times_us=tuple(described["times_us"]),
            pixels=np.load(self._folder / f"{seed}.npy", mmap_mode="r"),
            cells=Cells(*described["cells"]),
            still=tuple((start, end) for start, end in described["still"]),
        )

    def missing(self, seeds: range) -> Iterator[int]:
        """Yield those of ``seeds`` that are not there yet."""
        there = set(self.seeds())
        return (seed for seed in seeds if seed not in there)
