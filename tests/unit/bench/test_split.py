from bench.split import ASKERS, FRAMES, _frames_needed
from bench.split_tally import Asked, load


def test_there_are_frames_for_the_load_the_transfers_and_the_first_question() -> None:
    assert _frames_needed([Asked(0, 4), Asked(4, 16)], rounds=2) == 20 + 2 * sum(FRAMES) + max(FRAMES)


def test_a_quick_load_keeps_all_askers_busy() -> None:
    assert len(load(18)) >= 3 * ASKERS
