import numpy as np

from core.frames import Features, FeatureType
from core.ids import CameraId, FrameRef, make_frame_ref
from qa.chat_shelf import FeatureShelf


def ref(n: int) -> FrameRef:
    return make_frame_ref(CameraId("picture-0"), n)


def features(tokens: int = 4) -> Features:
    """Return features of ``16 * tokens`` bytes."""
    data = np.ones((tokens, 8), "<u2").tobytes()
    return Features(data, FeatureType.BF16, (tokens, 8), (1, 2, 2 * tokens), "0123456789ab")


def test_what_was_put_is_there() -> None:
    shelf, kept = FeatureShelf(1_000), features()
    shelf.put(ref(1), kept)
    assert shelf.get(ref(1)) is kept
    assert shelf.get(ref(2)) is None
    assert shelf.size_bytes == 64


def test_the_least_recently_used_goes_first() -> None:
    shelf = FeatureShelf(3 * 64)
    for n in (1, 2, 3):
        shelf.put(ref(n), features())
    shelf.get(ref(1))
    shelf.put(ref(4), features())
    assert [n for n in (1, 2, 3, 4) if shelf.get(ref(n))] == [1, 3, 4]
    assert shelf.size_bytes == 3 * 64


def test_what_is_larger_than_the_budget_is_not_kept_and_displaces_nothing() -> None:
    shelf = FeatureShelf(64)
    shelf.put(ref(1), features())
    shelf.put(ref(2), features(5))
    assert shelf.get(ref(1)) is not None
    assert shelf.get(ref(2)) is None


def test_the_same_picture_counts_once() -> None:
    shelf = FeatureShelf(1_000)
    for tokens in (4, 8):
        shelf.put(ref(1), features(tokens))
    assert shelf.size_bytes == 128


def test_a_budget_of_nothing_keeps_nothing() -> None:
    shelf = FeatureShelf(0)
    shelf.put(ref(1), features())
    assert shelf.get(ref(1)) is None
