"""Which of a source's tracks is read."""

from ingest.tracks import VideoTrack, best_track


def track(
    index: int, width: int, height: int, *, decodable: bool = True, attached: bool = False
) -> VideoTrack:
    return VideoTrack(index, width, height, decodable, attached)


def test_the_largest_track_is_read() -> None:
    assert best_track([track(1, 320, 180), track(3, 480, 270)]) == track(3, 480, 270)


def test_of_equal_tracks_the_first_is_read() -> None:
    assert best_track([track(2, 320, 180), track(4, 320, 180)]) == track(2, 320, 180)


def test_covers_and_what_cannot_be_decoded_are_left_out() -> None:
    tracks = [track(0, 4000, 3000, attached=True), track(1, 1920, 1080, decodable=False), track(2, 64, 48)]
    assert best_track(tracks) == track(2, 64, 48)
    assert best_track(tracks[:2]) is None


def test_a_track_of_unknown_size_is_better_than_none() -> None:
    assert best_track([track(0, 0, 0)]) == track(0, 0, 0)
