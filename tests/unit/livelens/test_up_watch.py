import pytest
from hypothesis import given
from hypothesis import strategies as st

from livelens.up_watch import Again, GiveUp, RestartLimits, Restarts, said_of

LIMITS = RestartLimits(first_pause_us=1_000_000, longest_pause_us=8_000_000, steady_us=60_000_000, tries=3)


def once_ready() -> Restarts:
    restarts = Restarts(LIMITS)
    restarts.started()
    restarts.ready(0)
    return restarts


def test_pauses_grow_up_to_the_longest() -> None:
    restarts = once_ready()
    pauses = []
    for _ in range(6):
        verdict = restarts.ended(1, 0)
        assert isinstance(verdict, Again)
        pauses.append(verdict.pause_us // 1_000_000)
        restarts.started()
    assert pauses == [1, 2, 4, 8, 8, 8]


def test_a_long_steady_run_makes_the_next_pause_a_first_one() -> None:
    restarts = once_ready()
    restarts.ended(1, 0)
    restarts.started()
    restarts.ended(1, 0)
    restarts.started()
    restarts.ready(100)
    assert restarts.ended(-9, 100 + 60_000_000) == Again(1_000_000)


def test_time_before_it_was_ready_does_not_count_as_steady() -> None:
    restarts = once_ready()
    restarts.ended(1, 0)
    restarts.started()
    assert restarts.ended(1, 600_000_000) == Again(2_000_000)


def test_wrong_settings_are_not_tried_twice() -> None:
    restarts = Restarts(LIMITS)
    restarts.started()
    assert restarts.ended(2, 0) == GiveUp("it does not start with these settings")


def test_a_program_that_cannot_be_run_is_not_tried_twice() -> None:
    restarts = Restarts(LIMITS)
    restarts.started()
    assert restarts.ended(127, 0) == GiveUp("it cannot be run")


def test_what_never_comes_up_is_given_up_after_some_tries() -> None:
    restarts = Restarts(LIMITS)
    verdicts = []
    for _ in range(3):
        restarts.started()
        verdicts.append(restarts.ended(1, 0))
    assert verdicts[:2] == [Again(1_000_000), Again(2_000_000)]
    assert verdicts[2] == GiveUp("it ended 3 times before it was ready")


@given(st.lists(st.integers(-64, 255), max_size=60))
def test_what_was_up_once_is_never_given_up(codes: list[int]) -> None:
    restarts = once_ready()
    for code in codes:
        verdict = restarts.ended(code, 0)
        assert isinstance(verdict, Again)
        assert 1_000_000 <= verdict.pause_us <= 8_000_000
        restarts.started()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "ended with code 0"),
        (-9, "was ended by SIGKILL"),
        (-99, "was ended by signal 99"),
    ],
)
def test_an_end_is_told_in_words(code: int, words: str) -> None:
    assert said_of(code) == words


@pytest.mark.parametrize("wrong", [{"first_pause_us": 0}, {"longest_pause_us": 1}, {"tries": 0}])
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        RestartLimits(**wrong)
