"""Which pieces are the same thing as before."""

import numpy as np

from core.records import ObjectTrack, Side
from sampler.blobs import find_blobs
from sampler.tracks import Scene, TrackKeeper

Spot = tuple[int, int, int, int, bool]
"""Left, top, width, height, and whether it moves."""


def scene(t_us: int, *spots: Spot) -> Scene:
    front = np.zeros((90, 160), dtype=np.uint8)
    moved = np.zeros_like(front)
    for left, top, width, height, moving in spots:
        at = np.s_[max(0, top) : max(0, top + height), max(0, left) : max(0, left + width)]
        front[at] = 1
        moved[at] |= int(moving)
    blobs, labels = find_blobs(front, moved)
    return Scene(t_us, tuple(blobs), labels, front, moved)


def run(keeper: TrackKeeper, frames: list[list[Spot]], *, start: int = 0) -> dict[str, ObjectTrack]:
    found: dict[str, ObjectTrack] = {}
    for n, spots in enumerate(frames, start=start):
        found |= {record.key: record for record in keeper.push(scene(n * 100_000, *spots))}
    return found


def crossing(n: int, *, top: int = 30, step: int = 6, moving: bool = True) -> Spot:
    return (-20 + step * n, top, 20, 30, moving)


def test_a_thing_that_crosses_is_one_track_from_its_first_sight() -> None:
    records = run(TrackKeeper(), [[crossing(n)] for n in range(4, 31)] + [[]] * 20)
    (track,) = records.values()
    assert not track.open
    assert (track.entered, track.left) == (Side.LEFT, Side.RIGHT)
    assert (track.start_us, track.end_us) == (0, 2_600_000)  # the first frame without it


def test_a_track_is_reported_while_it_lasts_at_least_every_second() -> None:
    keeper, times = TrackKeeper(), []
    for n in range(100):
        spot = (40 + int(4 * np.sin(n)), 30, 20, 30, True)
        times += [n for record in keeper.push(scene(n * 100_000, spot)) if record.open]
    assert times[0] <= 12
    assert max(np.diff(times)) <= 10


def test_what_flashes_or_jumps_once_is_no_track() -> None:
    jump: list[list[Spot]] = [[]] * 5 + [[(60, 40, 12, 8, True)]] * 2 + [[(60, 40, 12, 8, False)]] * 40
    assert run(TrackKeeper(), jump) == {}


def test_what_never_moves_is_no_track() -> None:
    assert run(TrackKeeper(), [[(60, 40, 12, 8, False)]] * 50) == {}


def test_somebody_who_stands_still_stays_tracked() -> None:
    frames = [[crossing(n)] for n in range(4, 16)] + [[crossing(16, moving=False)]] * 150
    (track,) = run(TrackKeeper(), frames).values()
    assert track.open
    assert track.end_us > 15_000_000


def test_a_short_loss_of_sight_does_not_end_a_track() -> None:
    frames = [[crossing(n)] if not 14 < n < 20 else [] for n in range(4, 31)]
    assert len(run(TrackKeeper(), frames + [[]] * 20)) == 1


def test_two_things_that_meet_and_part_are_two_tracks() -> None:
    frames: list[list[Spot]] = [
        [(-24 + 5 * n, 30, 24, 26, True), (160 - 5 * n, 42, 24, 26, True)] for n in range(40)
    ]
    records = run(TrackKeeper(), frames + [[]] * 20)
    assert sorted((t.entered, t.left) for t in records.values()) == [
        (Side.LEFT, Side.RIGHT),
        (Side.RIGHT, Side.LEFT),
    ]


def test_where_one_piece_stays_behind_the_track_follows_the_one_that_moves() -> None:
    coming: list[list[Spot]] = [[(60, 0, 20, 6 * n, True)] for n in range(1, 9)]
    going: list[list[Spot]] = [[(60, 0, 20, 40 - 8 * n, True), (62, 50, 16, 16, False)] for n in range(1, 5)]
    after: list[list[Spot]] = [[(62, 50, 16, 16, False)]] * 30
    (track,) = run(TrackKeeper(), coming + going + after).values()
    assert not track.open
    assert (track.entered, track.left) == (Side.TOP, Side.TOP)
    assert track.end_us <= 1_200_000


def test_pieces_of_one_thing_are_one_track() -> None:
    frames: list[list[Spot]] = []
    for n in range(30):
        x = -20 + 6 * n
        frames.append([(x, 20, 16, 18, True), (x + 2, 42, 12, 20, True)])  # four rows apart
    assert len(run(TrackKeeper(), frames + [[]] * 20)) == 1


def test_what_becomes_background_ends_at_its_last_movement() -> None:
    keeper = TrackKeeper()
    run(keeper, [[crossing(n)] for n in range(4, 16)] + [[crossing(16, moving=False)]] * 50)
    (track,) = keeper.release(np.ones((90, 160), dtype=np.uint8))
    assert (track.open, track.left, track.end_us) == (False, None, 1_100_000)


def test_finish_ends_everything_and_claims_no_exit() -> None:
    keeper = TrackKeeper()
    run(keeper, [[crossing(n)] for n in range(4, 28)])
    (track,) = keeper.finish()
    assert (track.open, track.left) == (False, None)
    assert keeper.finish() == ()


def test_what_came_and_went_while_the_picture_was_unsettled_is_told_afterwards() -> None:
    keeper = TrackKeeper()
    for n in range(4, 50):
        shown = [crossing(n)] if n < 31 else []
        assert keeper.push(scene(n * 100_000, *shown), believe=False) == ()
    (track,) = keeper.push(scene(5_000_000))
    assert (track.open, track.entered, track.left) == (False, Side.LEFT, Side.RIGHT)
    assert keeper.push(scene(5_100_000)) == ()


def test_nothing_new_is_believed_while_the_picture_is_unsettled() -> None:
    keeper = TrackKeeper()
    for n in range(4, 20):
        assert keeper.push(scene(n * 100_000, crossing(n)), believe=False) == ()
    assert len(keeper.push(scene(2_000_000, crossing(20)))) == 1
    keeper.forget_unbelieved()
    assert len(keeper.trails) == 1
