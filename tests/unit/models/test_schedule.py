import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.schedule import Limits, Round, Schedule

GRID = (1, 6, 8)


def schedule(*, row_tokens: int = 10**9, **limits: int) -> Schedule[str]:
    return Schedule(Limits(**limits), row_tokens=row_tokens)


def test_nothing_to_do_is_idle_without_a_date() -> None:
    assert schedule().next_round(0) == Round()
    assert schedule().next_round(0).idle


def test_a_lone_picture_waits_for_company_but_no_longer_than_told() -> None:
    s = schedule(encode_batch=4, encode_fill_us=20_000)
    s.add_picture("a", GRID, now_us=1_000)

    assert s.next_round(1_000) == Round(wake_us=21_000)
    assert s.next_round(21_000).encode == ("a",)
    assert s.next_round(21_000).idle


def test_a_full_batch_goes_at_once() -> None:
    s = schedule(encode_batch=2)
    for key in "abc":
        s.add_picture(key, GRID, now_us=0)

    assert s.next_round(0).encode == ("a", "b")
    assert s.pictures == 1


def test_a_slow_machine_takes_fewer_pictures_at_a_time() -> None:
    s = schedule(encode_batch=8)
    for key in "abc":
        s.add_picture(key, GRID, now_us=0)

    assert s.next_round(0, pictures=2).encode == ("a", "b")
    assert s.next_round(0, pictures=1).encode == ("c",)


def test_a_batch_has_one_grid_and_begins_with_the_oldest_picture() -> None:
    s = schedule(encode_batch=4, encode_fill_us=0)
    s.add_picture("a", GRID, now_us=0)
    s.add_picture("b", (1, 2, 2), now_us=0)
    s.add_picture("c", GRID, now_us=0)

    assert s.next_round(0).encode == ("a", "c")
    assert s.next_round(0).encode == ("b",)


def test_one_prefill_at_a_time_then_the_answer_is_decoded_with_the_others() -> None:
    s = schedule()
    s.add_question("a", priority=0, tokens=10)
    s.add_question("b", priority=0, tokens=10)

    assert s.next_round(0).prefill == "a"
    assert s.next_round(0).prefill == "a"
    s.prompt_through("a")
    assert s.next_round(0) == Round(prefill="b", decode=("a",))
    s.prompt_through("b")
    assert s.next_round(0).decode == ("a", "b")


def test_a_live_question_goes_before_batch_ones_even_into_a_prefill_under_way() -> None:
    s = schedule()
    s.add_question("batch", priority=10, tokens=10)
    assert s.next_round(0).prefill == "batch"
    s.add_question("live", priority=0, tokens=10)

    assert s.next_round(0).prefill == "live"
    s.prompt_through("live")
    assert s.next_round(0).prefill == "batch"


def test_batch_answers_leave_places_for_live_ones() -> None:
    s = schedule(answers=3, live_places=1)
    for key in ("b1", "b2", "b3"):
        s.add_question(key, priority=10, tokens=10)
    for key in ("b1", "b2"):
        assert s.next_round(0).prefill == key
        s.prompt_through(key)

    assert s.next_round(0).prefill is None
    s.add_question("live", priority=0, tokens=10)
    assert s.next_round(0).prefill == "live"
    s.prompt_through("live")
    s.remove("b1")
    assert s.next_round(0).prefill is None  # two left, of three places one is for live questions
    s.remove("live")
    assert s.next_round(0).prefill == "b3"


def test_no_more_answers_than_places() -> None:
    s = schedule(answers=2, live_places=0)
    for key in "abc":
        s.add_question(key, priority=0, tokens=10)
    for key in "ab":
        s.next_round(0)
        s.prompt_through(key)

    assert s.next_round(0) == Round(decode=("a", "b"))
    assert (s.running, s.waiting) == (2, 1)


def test_an_answer_that_needs_more_room_than_is_left_waits_and_nobody_passes_it() -> None:
    s = schedule(row_tokens=1_000)
    s.add_question("small", priority=0, tokens=100)
    s.next_round(0)
    s.prompt_through("small")
    s.add_question("large", priority=0, tokens=900)
    s.add_question("tiny", priority=0, tokens=1)

    assert s.next_round(0).prefill is None
    s.remove("small")
    assert s.next_round(0).prefill == "large"


def test_an_answer_larger_than_all_room_may_still_run_alone() -> None:
    s = schedule(row_tokens=1_000)
    s.add_question("huge", priority=0, tokens=5_000)

    assert s.next_round(0).prefill == "huge"


def test_removing_works_in_every_place_and_for_strangers() -> None:
    s = schedule()
    s.add_picture("p", GRID, now_us=0)
    for key in "abc":
        s.add_question(key, priority=0, tokens=10)
    s.next_round(0)
    s.prompt_through("a")
    s.next_round(0)
    for key in ("a", "b", "c", "p", "stranger"):
        s.remove(key)

    assert s.next_round(10**9).idle
    assert (s.running, s.waiting, s.pictures) == (0, 0, 0)


@pytest.mark.parametrize(
    "limits",
    [{"answers": 0}, {"encode_batch": 0}, {"live_places": 16}, {"encode_fill_us": -1}],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Limits(**limits)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 900)), max_size=30),
    st.randoms(use_true_random=False),
)
def test_every_question_gets_its_turn_and_limits_hold(questions: list[tuple[int, int]], chance) -> None:  # type: ignore[no-untyped-def]
    s = schedule(answers=4, live_places=1, row_tokens=2_000)
    for number, (priority, tokens) in enumerate(questions):
        s.add_question(str(number), priority=priority, tokens=tokens)
    served: set[str] = set()
    for _ in range(1_000):
        todo = s.next_round(0)
        assert s.running <= 4
        if todo.prefill is not None:
            s.prompt_through(todo.prefill)
        if todo.decode and chance.random() < 0.5:
            served.add(done := chance.choice(todo.decode))
            s.remove(done)
        if todo.idle:
            break

    assert served == {str(n) for n in range(len(questions))}
