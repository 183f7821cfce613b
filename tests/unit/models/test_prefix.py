from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.ids import FrameRef
from models.chat import Cells, PlacedFrame, Rendered
from models.prefix import Kept, KeptPrefixes, shared_run


def row(*pieces: str | tuple[str, int]) -> Rendered:
    """Build a prompt of letters and frames; a frame is (ref, tokens)."""
    ids: list[int] = []
    frames: list[PlacedFrame] = []
    for piece in pieces:
        if isinstance(piece, str):
            ids += [ord(c) for c in piece]
        else:
            frames.append(PlacedFrame(FrameRef(piece[0]), Cells(1, piece[1]), len(ids)))
            ids += [0] * piece[1]
    array = np.array(ids, dtype=np.int64)
    return Rendered(array, np.zeros((3, len(ids)), np.int64), len(ids), tuple(frames))


def test_the_run_ends_at_the_first_other_token() -> None:
    kept = row("abcd")
    assert shared_run(kept, 4, row("abXd")) == 2


def test_at_least_one_token_is_left_to_compute() -> None:
    kept = row("abcd")
    assert shared_run(kept, 4, row("abcd")) == 3


def test_another_frame_in_the_same_place_ends_the_run_before_its_tokens() -> None:
    kept = row("a", ("f1", 4), "b", ("f2", 4), "q")
    assert shared_run(kept, 11, row("a", ("f1", 4), "b", ("f3", 4), "q")) == 6


def test_a_frame_of_other_shape_is_another_frame() -> None:
    kept = row("a", ("f1", 4), "q")
    assert shared_run(kept, 6, row("a", ("f1", 3), "q")) == 1


def test_the_run_never_ends_inside_a_frame() -> None:
    kept = row("a", ("f1", 4))
    assert shared_run(kept, 3, row("a", ("f1", 4), "q")) == 1
    assert shared_run(kept, 5, row("a", ("f1", 4))) == 1


def test_one_more_frame_keeps_all_that_came_before() -> None:
    kept = row("a", ("f1", 4), "b")
    assert shared_run(kept, 6, row("a", ("f1", 4), "b", ("f2", 4), "q")) == 6


piece = st.one_of(
    st.text("ab", max_size=3), st.tuples(st.sampled_from(["f1", "f2", "f3"]), st.integers(1, 3))
)


@given(st.lists(piece, max_size=6), st.lists(piece, max_size=6), st.integers(0, 20))
def test_a_shared_run_is_equal_in_both_and_cuts_no_frame(
    ours: list[Any], theirs: list[Any], limit: int
) -> None:
    wanted, kept = row(*ours, "?"), row(*theirs, "!")
    run = shared_run(kept, min(limit, kept.tokens), wanted)

    assert 0 <= run < wanted.tokens
    assert run <= limit
    assert wanted.ids[:run].tolist() == kept.ids[:run].tolist()
    for prompt in (wanted, kept):
        assert not any(f.start < run < f.end for f in prompt.frames if prompt is wanted or f.end <= limit)
    assert [f for f in wanted.frames if f.end <= run] == [f for f in kept.frames if f.end <= run]


def keep(
    prefixes: KeptPrefixes[str], prompt: Rendered, tokens: int, state: str, size_bytes: int = 10
) -> None:
    prefixes.keep(Kept(prompt, tokens, state, size_bytes))


def test_the_state_that_saves_most_is_found() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(100)
    keep(prefixes, row("ab"), 2, "short")
    keep(prefixes, row("xyz"), 3, "other")
    keep(prefixes, row("abQcd"), 5, "long")
    found = prefixes.find(row("abQZ"))

    assert found is not None
    assert (found.state, found.tokens) == ("long", 3)
    assert prefixes.find(row("zzz")) is None


def test_a_longer_state_replaces_the_shorter_one_it_contains() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(100)
    keep(prefixes, row("ab"), 2, "short")
    keep(prefixes, row("abcd"), 4, "long")

    assert len(prefixes) == 1
    assert prefixes.size_bytes == 10


def test_the_least_recently_used_leaves_when_the_budget_is_full() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(25)
    keep(prefixes, row("aa"), 2, "a")
    keep(prefixes, row("bb"), 2, "b")
    prefixes.find(row("aaz"))
    keep(prefixes, row("cc"), 2, "c")

    assert prefixes.find(row("bbz")) is None
    assert prefixes.find(row("aaz")) is not None
    assert prefixes.size_bytes == 20


def test_no_more_are_kept_than_can_be_compared_quickly() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(10**9)
    for n in range(KeptPrefixes.MOST + 10):
        keep(prefixes, row(chr(65 + n) * 3), 3, str(n))

    assert len(prefixes) == KeptPrefixes.MOST
    assert prefixes.size_bytes == 10 * KeptPrefixes.MOST


def test_what_is_kept_already_or_does_not_fit_is_not_wanted() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(25)
    keep(prefixes, row("abc"), 3, "abc")

    assert not prefixes.wants(row("abcq"), 3, 10)
    assert prefixes.wants(row("abXq"), 3, 10)
    assert not prefixes.wants(row("abXq"), 3, 26)
    assert not prefixes.wants(row("q"), 0, 0)


def test_clearing_forgets_everything() -> None:
    prefixes: KeptPrefixes[str] = KeptPrefixes(25)
    keep(prefixes, row("abc"), 3, "abc")
    prefixes.clear()

    assert prefixes.find(row("abcq")) is None
    assert prefixes.size_bytes == 0
