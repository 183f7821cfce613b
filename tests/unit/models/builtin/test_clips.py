from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from core.frames import Frame, KeepReason, Sample
from core.records import Record, StaticSpan
from models.builtin.clips import Clip, ClipBank, record_clip


@dataclass
class Pushed:
    sample: Sample | None
    records: tuple[Record, ...]


class EveryFifth:
    """A sampler that keeps every fifth frame and says once that nothing moved."""

    def __init__(self) -> None:
        self._frames = 0

    def push(self, frame: Frame) -> Pushed:
        self._frames += 1
        kept = self._frames % 5 == 1
        sample = (
            Sample(frame.camera_id, frame.t_us, 0, KeepReason.MOTION, 0.1, frame.picture, b"")
            if kept
            else None
        )
        return Pushed(sample, ())

    def finish(self) -> tuple[Record, ...]:
        return (StaticSpan(5, 9),)


@pytest.fixture(scope="module")
def clip() -> Clip:
    return record_clip(2, EveryFifth())


def test_a_clip_holds_what_the_sampler_kept_at_the_size_that_the_model_reads(clip: Clip) -> None:
    rows, columns = clip.cells
    assert clip.pixels.shape == (len(clip.times_us), rows * 32, columns * 32, 3)
    assert 15 <= len(clip.times_us) <= 40
    assert list(clip.times_us) == sorted(clip.times_us)
    assert clip.times_us[0] == clip.start_us
    assert clip.still == ((5, 9),)


def test_a_bank_gives_back_what_it_was_given_and_knows_what_it_lacks(clip: Clip, tmp_path: Path) -> None:
    bank = ClipBank(tmp_path / "clips")
    assert list(bank.missing(range(1, 4))) == [1, 2, 3]
    bank.write(2, clip)
    assert bank.seeds() == [2]
    assert list(bank.missing(range(1, 4))) == [1, 3]
    back = bank.read(2)
    assert np.array_equal(back.pixels, clip.pixels)
    assert (back.times_us, back.start_us, back.cells, back.still) == (
        clip.times_us,
        clip.start_us,
        clip.cells,
        clip.still,
    )
    assert back.truth.to_json() == clip.truth.to_json()


def test_a_mirrored_clip_shows_what_its_truth_says(clip: Clip) -> None:
    mirrored = clip.mirrored()
    assert np.array_equal(mirrored.pixels[0], np.fliplr(clip.pixels[0]))
    for thing, other in zip(clip.truth.objects, mirrored.truth.objects, strict=True):
        assert other.spot(0).x == pytest.approx(1 - thing.spot(0).x)
        assert other.spot(0).y == thing.spot(0).y
        assert (other.colour, other.appears_us) == (thing.colour, thing.appears_us)
    assert (mirrored.times_us, mirrored.still) == (clip.times_us, clip.still)
