from tests.support.windows import features_of, stored


def test_a_frame_counts_its_picture_its_features_and_its_overhead() -> None:
    plain = stored(1, jpeg=b"x" * 1_000)
    encoded = stored(1, jpeg=b"x" * 1_000, features=features_of(tokens=4, width=8))
    assert plain.size_bytes > 1_000
    assert encoded.size_bytes - plain.size_bytes == 4 * 8 * 2
