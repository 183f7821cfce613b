import pickle

import numpy as np
import pytest

from bench.accuracy_scenes import own_scene, record, seen_count
from core.records import StaticSpan
from models.builtin.scenes import draw, frame_times
from models.builtin.seeds import BENCH, SeedRefused, for_training
from tests.support.toy_scenes import SECOND, scene, thing


def test_a_recorded_scene_holds_what_the_sampler_kept_at_the_models_size() -> None:
    truth = scene(thing(1, at=(0.2, 0.5), to=(0.8, 0.5), moves_s=(3, 5)), seconds=6)
    times = frame_times(truth.duration_us, 5)
    kept = record(truth, draw(1, truth, times), fps=5, crf=25, start_us=1_000 * SECOND)
    shapes = {shot.pixels.shape for shot in kept.shots}
    assert shapes == {(128, 224, 3)}
    assert (kept.shots[0].t_us, kept.end_us) == (1_000 * SECOND, 1_006 * SECOND)
    assert any(isinstance(item, StaticSpan) for item in kept.records)
    assert kept.shots[0].luma().shape == (128, 224)
    assert np.array_equal(kept.shots[0].rgb(224, 128), kept.shots[0].pixels)
    with pytest.raises(ValueError, match="a shot holds"):
        kept.shots[0].rgb(64, 64)


def test_a_scene_is_the_same_each_time_and_ends_with_the_objects_its_number_says() -> None:
    first, again = own_scene(0), own_scene(0)
    assert pickle.dumps(first) == pickle.dumps(again)
    assert seen_count(first.truth, first.end_us - first.start_us - 1) == 0


def test_training_refuses_the_benchs_scenes() -> None:
    with pytest.raises(SeedRefused):
        for_training(BENCH)
