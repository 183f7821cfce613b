"""Frames in; samples and records out."""

import cv2
import numpy as np

from core.frames import Frame, KeepReason, Sample
from core.ids import CameraId
from core.records import Record, StaticSpan
from sampler.errors import PictureRefused
from sampler.sampler import Sampler
from tests.support.pictures import ArrayPicture

CAMERA = CameraId("gate")
START_US = 1_700_000_000_000_000
ROOM = np.kron(np.random.default_rng(3).uniform(40, 180, (9, 16)), np.ones((20, 20)))


def frame(t_us: int, thing_x: int | None = None, *, epoch: int = 0, seed: int | None = None) -> Frame:
    pixels = ROOM + np.random.default_rng(t_us if seed is None else seed).normal(0, 5, ROOM.shape)
    if thing_x is not None:
        pixels[60:140, thing_x : thing_x + 30] = 230
    return Frame(CAMERA, START_US + t_us, epoch, ArrayPicture(np.clip(pixels, 0, 255).astype(np.uint8)))


def play(sampler: Sampler, frames: list[Frame]) -> tuple[list[Sample], dict[str, Record]]:
    samples, records = [], {}
    for one in frames:
        pushed = sampler.push(one)
        if pushed.sample is not None:
            samples.append(pushed.sample)
        records.update((record.key, record) for record in pushed.records)
    return samples, records


def test_a_minute_of_a_quiet_noisy_room_keeps_heartbeats_and_says_that_nothing_moved() -> None:
    samples, records = play(Sampler(), [frame(n * 100_000) for n in range(600)])
    assert [s.reason for s in samples] == [KeepReason.FIRST] + [KeepReason.HEARTBEAT] * 29
    assert records == {f"static:{START_US}": StaticSpan(START_US, START_US + 58_000_000)}
    assert {s.motion for s in samples} == {0.0}


def test_an_arrival_is_kept_at_once_and_ends_the_static_span() -> None:
    sampler = Sampler()
    quiet = [frame(n * 40_000) for n in range(101)]  # the last one is a heartbeat
    busy = [frame(4_040_000 + n * 40_000, 20 + n * 5) for n in range(25)]
    samples, records = play(sampler, quiet + busy)
    motion = [s for s in samples if s.reason is KeepReason.MOTION]
    assert motion[0].t_us == START_US + 4_040_000
    assert 4 <= len(motion) <= 5
    assert records[f"static:{START_US}"].end_us == START_US + 4_000_000


def test_a_sample_leaves_with_its_jpeg_at_the_size_asked() -> None:
    pixels = np.zeros((720, 1280, 3), dtype=np.uint8)
    pixels[:, :, 0] = 200
    sample = Sampler().push(Frame(CAMERA, START_US, 0, ArrayPicture(pixels))).sample
    assert sample is not None
    back = cv2.imdecode(np.frombuffer(sample.jpeg, dtype=np.uint8), cv2.IMREAD_COLOR)
    assert back.shape == (540, 960, 3)
    assert back[:, :, 2].mean() > 190


def test_a_new_epoch_ends_the_static_span_and_begins_with_a_first_frame() -> None:
    sampler = Sampler()
    play(sampler, [frame(n * 100_000) for n in range(31)])
    samples, records = play(sampler, [frame(9_000_000, epoch=1)])
    assert samples[0].reason is KeepReason.FIRST
    assert records == {f"static:{START_US}": StaticSpan(START_US, START_US + 3_000_000)}


def test_silence_within_an_epoch_is_not_called_unchanged() -> None:
    sampler = Sampler()
    _, records = play(sampler, [frame(n * 100_000) for n in range(31)] + [frame(30_000_000)])
    assert records[f"static:{START_US}"].end_us == START_US + 3_000_000


def test_a_picture_of_another_size_does_not_disturb() -> None:
    sampler = Sampler()
    play(sampler, [frame(n * 100_000) for n in range(10)])
    other = Frame(CAMERA, START_US + 1_100_000, 1, ArrayPicture(np.full((100, 300), 90, dtype=np.uint8)))
    assert play(sampler, [other])[0][0].reason is KeepReason.FIRST


class Unreadable(ArrayPicture):
    """Has brightness, but no colours."""

    def rgb(self, width_px: int, height_px: int) -> np.ndarray:
        raise PictureRefused("no colours")


def test_a_picture_that_cannot_be_written_is_counted_and_the_next_one_is_looked_at() -> None:
    sampler = Sampler()
    bad = Frame(CAMERA, START_US, 0, Unreadable(ROOM.astype(np.uint8)))
    pushed = sampler.push(bad)
    assert (pushed.sample, pushed.refused) == (None, True)
    play(sampler, [frame(n * 100_000) for n in range(1, 40)])
    counted = sampler.statistics()
    assert (counted.refused, dict(counted.kept)[KeepReason.HEARTBEAT]) == (1, 1)


def test_what_was_kept_is_counted_by_reason() -> None:
    sampler = Sampler()
    play(sampler, [frame(n * 100_000) for n in range(50)])
    counted = sampler.statistics()
    assert counted.frames == 50
    assert dict(counted.kept) == {
        KeepReason.FIRST: 1,
        KeepReason.MOTION: 0,
        KeepReason.SCENE_CHANGE: 0,
        KeepReason.HEARTBEAT: 2,
    }
    assert counted.let_go == 47
