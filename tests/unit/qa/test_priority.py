"""Who is taken first: live before chat, the one that waited longer before the other, small before large that came with it."""

from hypothesis import given
from hypothesis import strategies as st

from qa.priority import CHAT_PRIORITY, estimated_tokens, live_priority

NOW_US = 1_795_000_000_000_000
SECOND = 1_000_000
SMALL, LARGE = 2_000, 9_000


@given(st.integers(0, 4_000_000_000_000_000), st.integers(0, 1 << 20))
def test_a_live_question_goes_before_chat_and_its_number_fits_into_32_bits(
    received_us: int, tokens: int
) -> None:
    assert -(1 << 31) <= live_priority(received_us, tokens=tokens) < 0 < CHAT_PRIORITY < 1 << 31


def test_of_equal_questions_the_one_that_waited_longer_goes_first() -> None:
    first, then = (live_priority(NOW_US + n * SECOND, tokens=SMALL) for n in range(2))
    assert first < then


def test_a_small_question_passes_a_large_one_that_came_with_it_and_not_one_that_has_waited() -> None:
    large = live_priority(NOW_US, tokens=LARGE)
    assert live_priority(NOW_US + SECOND, tokens=SMALL) < large
    assert live_priority(NOW_US + 3 * SECOND, tokens=SMALL) > large


def test_the_estimate_counts_frames_with_labels_text_and_answer() -> None:
    bare = estimated_tokens(frames=0, frame_tokens=128, answer_tokens=256)
    assert bare > 256
    assert estimated_tokens(frames=64, frame_tokens=128, answer_tokens=256) > bare + 64 * 128
