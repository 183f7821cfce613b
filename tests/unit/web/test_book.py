import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web import wire
from web.book import SessionBook, SessionLimits
from web.errors import DuplicateQuestion, SessionGone, TooManyQuestions, UnknownQuestion

LIMITS = SessionLimits(questions=2, waiting=3, replay_messages=4, replay_bytes=10_000)


def delta(text: str) -> wire.AnswerDeltaMessage:
    return wire.AnswerDeltaMessage(id="q", text=text)


def state(camera: str, *, removed: bool = False) -> wire.CameraStateMessage:
    return wire.CameraStateMessage(camera=camera, state=None, removed=removed)


def test_messages_leave_in_order_with_numbers_from_one() -> None:
    book = SessionBook(LIMITS)
    for text in "abc":
        book.put(delta(text))
    left = [book.take() for _ in range(4)]
    assert [sent and sent.seq for sent in left] == [1, 2, 3, None]
    assert [json.loads(sent.text)["text"] for sent in left if sent] == ["a", "b", "c"]
    assert book.seq == 3


def test_a_book_says_when_it_is_full() -> None:
    book = SessionBook(LIMITS)
    for text in "abc":
        assert book.has_room
        book.put(delta(text))
    assert not book.has_room
    book.take()
    assert book.has_room


def test_of_each_camera_only_the_newest_state_waits_and_words_go_first() -> None:
    book = SessionBook(LIMITS)
    for camera, removed in (("a", False), ("b", False), ("a", True)):
        book.put_state(state(camera, removed=removed))
    book.put(delta("word"))
    assert book.has_room, "states take no room from words"
    left = [json.loads(sent.text) for sent in iter(book.take, None)]
    assert [(one["type"], one.get("camera"), one.get("removed")) for one in left] == [
        ("answer.delta", None, None),
        ("camera.state", "a", True),
        ("camera.state", "b", False),
    ]


def test_questions_are_counted_and_told_apart() -> None:
    book = SessionBook(LIMITS)
    book.open_question("a")
    with pytest.raises(DuplicateQuestion):
        book.open_question("a")
    book.open_question("b")
    with pytest.raises(TooManyQuestions):
        book.open_question("c")
    book.close_question("a")
    with pytest.raises(UnknownQuestion):
        book.close_question("a")
    book.open_question("a")
    assert book.questions == {"a", "b"}


def test_what_was_missed_is_replayed_as_it_was() -> None:
    book = SessionBook(LIMITS)
    for text in "abc":
        book.put(delta(text))
    sent = [book.take() for _ in range(3)]
    assert list(book.replay(1)) == sent[1:]
    assert book.replay(3) == ()


def test_what_is_no_longer_held_or_never_was_cannot_be_replayed() -> None:
    book = SessionBook(LIMITS)
    with pytest.raises(SessionGone):
        book.replay(1)
    assert book.replay(0) == ()
    for _ in range(6):
        book.put(delta("x"))
        book.take()
    assert [sent.seq for sent in book.replay(2)] == [3, 4, 5, 6]
    with pytest.raises(SessionGone):
        book.replay(1)
    with pytest.raises(SessionGone):
        book.replay(7)


def test_bytes_are_limited_too_but_the_last_message_is_always_held() -> None:
    book = SessionBook(SessionLimits(questions=1, waiting=9, replay_messages=9, replay_bytes=100))
    for _ in range(3):
        book.put(delta("x" * 200))
        book.take()
    assert [sent.seq for sent in book.replay(2)] == [3]


@given(st.lists(st.sampled_from(["put", "take", "state"])), st.integers(0, 60))
def test_a_replay_after_any_number_is_whole_or_refused(steps: list[str], after: int) -> None:
    book = SessionBook(LIMITS)
    for number, step in enumerate(steps):
        match step:
            case "put":
                book.put(delta(str(number)))
            case "state":
                book.put_state(state(f"c{number % 3}"))
            case _:
                book.take()
    try:
        replayed = [sent.seq for sent in book.replay(after)]
    except SessionGone:
        return
    assert replayed == list(range(after + 1, book.seq + 1))
