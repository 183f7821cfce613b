from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from core.ids import FrameRef
from featcache.vllm_connector_checks import Refusal, Wanted
from featcache.vllm_connector_staging import Staged, Staging, Stand

SECOND = 1_000_000
TOKEN_BYTES = 10


def refs(*names: str) -> dict[FrameRef, Wanted]:
    return {FrameRef(name): Wanted(name, 4, (1, 4, 4), 10) for name in names}


def frame(value: str = "", *, size_bytes: int = 40, tokens: int = 4) -> Staged[str]:
    return Staged(value, size_bytes, tokens, (1, 4, 4))


def staging(capacity_bytes: int = 1000) -> Staging[str]:
    return Staging(capacity_bytes=capacity_bytes, limit_us=5 * SECOND)


def claim(
    held: Staging[str], request: str, wanted: Mapping[FrameRef, Wanted], *, at_s: float = 0
) -> Stand | Refusal:
    return held.claim(request, wanted, token_bytes=TOKEN_BYTES, now_us=int(at_s * SECOND))


def test_a_request_waits_until_all_its_frames_are_there() -> None:
    held = staging()
    assert claim(held, "r", refs("a", "b")) is Stand.WAITING
    assert held.take_to_fetch() == ["a", "b"]
    held.arrive(FrameRef("a"), frame("A"))
    assert claim(held, "r", refs("a", "b")) is Stand.WAITING
    held.arrive(FrameRef("b"), frame("B"))
    assert claim(held, "r", refs("a", "b")) is Stand.READY
    staged = held.get("a")
    assert staged is not None
    assert staged.value == "A"


def test_a_frame_is_fetched_once_however_many_wait_for_it() -> None:
    held = staging()
    claim(held, "one", refs("a"))
    claim(held, "two", refs("a", "b"))
    assert held.take_to_fetch() == ["a", "b"]
    claim(held, "one", refs("a"))
    assert held.take_to_fetch() == []


def test_a_frame_that_cannot_be_had_refuses_those_that_wait_for_it_and_nobody_else() -> None:
    held = staging()
    claim(held, "good", refs("a"))
    claim(held, "bad", refs("a", "b"))
    held.arrive(FrameRef("b"), Refusal.GONE)
    held.arrive(FrameRef("a"), frame())
    assert claim(held, "bad", refs("a", "b")) is Refusal.GONE
    assert claim(held, "good", refs("a")) is Stand.READY


def test_a_refusal_stands_until_the_request_has_ended_and_is_not_remembered_longer() -> None:
    held = staging()
    claim(held, "r", refs("b"))
    held.take_to_fetch()
    held.arrive(FrameRef("b"), Refusal.AWAY)
    assert claim(held, "r", refs("b")) is Refusal.AWAY
    assert claim(held, "r", {}) is Refusal.AWAY
    held.release("r")
    assert claim(held, "r", refs("b")) is Stand.WAITING
    assert held.take_to_fetch() == ["b"]


def test_a_frame_of_another_shape_refuses_the_request_that_made_room_for_a_different_one() -> None:
    held = staging()
    claim(held, "wrong", {FrameRef("a"): Wanted("a", 6, (1, 4, 6), 10)})
    claim(held, "right", refs("a"))
    held.arrive(FrameRef("a"), frame())
    assert claim(held, "wrong", {FrameRef("a"): Wanted("a", 6, (1, 4, 6), 10)}) is Refusal.SHAPE
    assert claim(held, "right", refs("a")) is Stand.READY


def test_a_request_whose_frames_do_not_come_is_refused_in_time() -> None:
    held = staging()
    assert claim(held, "r", refs("a"), at_s=1) is Stand.WAITING
    assert claim(held, "r", refs("a"), at_s=6) is Stand.WAITING
    assert claim(held, "r", refs("a"), at_s=6.1) is Refusal.LATE


def test_a_frame_stays_for_the_next_question_while_there_is_room() -> None:
    held = staging(capacity_bytes=80)
    for name in "abc":
        claim(held, name, refs(name))
        held.arrive(FrameRef(name), frame(name))
        assert claim(held, name, refs(name)) is Stand.READY
        held.release(name)
    assert held.get("a") is None
    assert held.get("b") is not None
    assert claim(held, "again", refs("b", "c")) is Stand.READY
    assert held.take_to_fetch() == ["a", "b", "c"]


def test_what_a_request_needs_is_never_let_go() -> None:
    held = staging(capacity_bytes=80)
    claim(held, "r", refs("a", "b"))
    for name in "ab":
        held.arrive(FrameRef(name), frame(name))
    assert claim(held, "other", refs("c")) is Stand.WAITING
    assert held.take_to_fetch() == ["a", "b"], "no room for c yet"
    assert claim(held, "r", refs("a", "b")) is Stand.READY
    assert claim(held, "r", refs("b")) is Stand.READY, "a is computed"
    assert claim(held, "other", refs("c")) is Stand.WAITING
    assert held.take_to_fetch() == ["c"]
    held.arrive(FrameRef("c"), frame("c"))
    assert held.get("a") is None
    assert claim(held, "r", refs("b")) is Stand.READY


def test_a_request_that_waits_for_room_counts_that_as_waiting() -> None:
    held = staging(capacity_bytes=50)
    claim(held, "r", refs("a"))
    held.arrive(FrameRef("a"), frame())
    assert claim(held, "other", refs("b"), at_s=0) is Stand.WAITING
    assert claim(held, "other", refs("b"), at_s=9) is Refusal.LATE


def test_a_request_larger_than_the_budget_goes_through_alone() -> None:
    held = staging(capacity_bytes=10)
    assert claim(held, "large", refs("a", "b")) is Stand.WAITING
    for name in "ab":
        held.arrive(FrameRef(name), frame(name))
    assert claim(held, "large", refs("a", "b")) is Stand.READY
    held.release("large")
    assert held.statistics().frames == 0


def test_statistics_tell_what_is_held() -> None:
    held = staging()
    claim(held, "r", refs("a", "b"))
    held.arrive(FrameRef("a"), frame())
    told = held.statistics()
    assert (told.frames, told.size_bytes, told.on_their_way, told.requests) == (1, 40, 1, 1)


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens in whichever order: a request that was told READY finds its frames until it lets them go."""

    def __init__(self) -> None:
        super().__init__()
        self.held = staging(capacity_bytes=120)
        self.ready: dict[str, dict[FrameRef, Wanted]] = {}
        self.coming: list[FrameRef] = []

    @rule(
        request=st.sampled_from(["r", "s", "t"]),
        names=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4),
    )
    def ask(self, request: str, names: list[str]) -> None:
        wanted = refs(*names)
        stand = claim(self.held, request, wanted)
        self.coming += self.held.take_to_fetch()
        assert len(set(self.coming)) == len(self.coming), "fetched twice at a time"
        if stand is Stand.READY:
            self.ready[request] = wanted
        else:
            self.ready.pop(request, None)

    @rule(good=st.booleans())
    def come(self, good: bool) -> None:
        if self.coming:
            ref = self.coming.pop(0)
            self.held.arrive(ref, frame(ref) if good else Refusal.GONE)

    @rule(request=st.sampled_from(["r", "s", "t"]))
    def end(self, request: str) -> None:
        self.held.release(request)
        self.ready.pop(request, None)

    @invariant()
    def what_is_promised_is_there(self) -> None:
        for wanted in self.ready.values():
            assert all(self.held.get(ref) is not None for ref in wanted)

    @invariant()
    def what_nobody_needs_stays_within_the_budget(self) -> None:
        told = self.held.statistics()
        if not told.requests:
            assert told.size_bytes <= 120


TestAnyOrder: Any = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=40)
