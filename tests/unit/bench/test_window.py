import pytest

from bench.window import SIZES, _bytes_of, _figures, _interval, batch, features, whole
from core.ids import CameraId
from featcache.redis_pieces import Pieces


def test_a_ratio_is_that_of_the_medians_and_its_spread_holds_it() -> None:
    took = [(1.0, 0.8), (1.1, 0.9), (0.9, 0.7)]
    rows = {figure.name: figure for figure in _figures("window.put.18kB", took, 8)}
    ratio = rows["window.put.18kB.ratio"]
    assert ratio.value == pytest.approx(0.8)
    assert ratio.spread[0] <= 0.8 <= ratio.spread[1]
    assert rows["window.put.18kB.ours"].value == pytest.approx(8.0)
    assert rows["window.put.18kB.bare"].value == pytest.approx(10.0)


def test_an_interval_of_a_median_narrows_with_more_values() -> None:
    few, many = _interval(list(range(10))), _interval(list(range(1000)))
    assert few == (2, 8)
    assert many == (469, 531)


def test_eight_bit_features_take_half_and_a_scale_for_each_token() -> None:
    for size in SIZES:
        wide, narrow = (figure.value for figure in _bytes_of(size))
        assert wide == 2 * size.tokens * size.width
        assert narrow == size.tokens * (size.width + 4)


def test_a_batch_has_frames_one_after_the_other_with_refs_of_their_own() -> None:
    frames = batch(CameraId("ours"), 5, features(SIZES[0]))
    assert [frame.t_us for frame in frames] == list(range(5, 13))
    assert len({frame.ref for frame in frames}) == 8


def test_the_bare_pipeline_sends_the_same_bytes_in_one_piece() -> None:
    assert whole(("SET", "key", Pieces((b"ab", b"cd")))) == ("SET", "key", b"abcd")
