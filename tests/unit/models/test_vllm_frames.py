import pytest

from core.clock import ManualClock
from core.ids import FrameRef
from core.meter import Metric, TallyMeter
from models.errors import DecoderUnavailable, NoUsableFrames
from models.prompt import FramePart, Prompt, TextPart
from models.vllm_frames import FrameLoader, Load, keeping, missing_is_few, thinned
from models.vllm_settings import VllmLimits
from tests.support.frame_source import ScriptedFrames
from tests.support.vllm_stage import features_of, frame_of, ref_of
from tests.unit.models.test_intake import CHECKPOINT as TINY

LIMITS = VllmLimits(frames_timeout_us=50_000)
NOTE = TextPart("note")


def prompt_of(*numbers: int) -> Prompt:
    return Prompt("S.", (*(frame_of(n, TINY) for n in numbers), NOTE), "Q?")


def refs(*numbers: int) -> tuple[FrameRef, ...]:
    return tuple(ref_of(n, TINY) for n in numbers)


class Stage:
    def __init__(self, *published: int) -> None:
        self.frames = ScriptedFrames({ref_of(n, TINY): features_of(n, TINY) for n in published})
        self.clock, self.meter = ManualClock(), TallyMeter()
        self.loader = FrameLoader(self.frames, TINY, limits=LIMITS, clock=self.clock, meter=self.meter)

    async def load(self, *numbers: int, attempt: int = 1) -> Load:
        return await self.loader.load(prompt_of(*numbers), attempt=attempt)

    def hold(self, *numbers: int) -> None:
        self.frames.mine = {ref_of(n, TINY): features_of(n, TINY) for n in numbers}


def shown(load: Load) -> list[FrameRef]:
    return [frame.ref for frame in load.prompt.frames]


async def test_frames_that_redis_holds_go_by_ref_and_no_byte_of_them_is_read() -> None:
    stage = Stage(*range(20))
    load = await stage.load(*range(20))

    assert load == Load(prompt_of(*range(20)))
    assert stage.frames.asked == ["published"]


async def test_a_few_missing_frames_are_left_out_and_named() -> None:
    stage = Stage(*range(2, 16))
    stage.hold(*range(16))
    load = await stage.load(*range(16))

    assert shown(load) == list(refs(*range(2, 16)))
    assert load.refused == refs(0, 1)
    assert load.inline is None
    assert load.prompt.parts[-1] == NOTE


async def test_many_missing_frames_are_worth_a_few_of_the_whole_span_inline() -> None:
    stage = Stage(*range(10, 20))
    stage.hold(*range(20))
    load = await stage.load(*range(20))

    assert load.inline is not None
    assert set(load.inline) == set(shown(load))
    assert len(load.inline) == LIMITS.inline_frames
    assert (shown(load)[0], shown(load)[-1]) == refs(0, 19)
    assert len(load.refused) == 20 - LIMITS.inline_frames


async def test_many_missing_frames_that_nobody_here_holds_are_left_out() -> None:
    stage = Stage(*range(10, 20))
    load = await stage.load(*range(20))

    assert shown(load) == list(refs(*range(10, 20)))
    assert load.refused == refs(*range(10))


async def test_none_of_the_frames_is_no_question() -> None:
    with pytest.raises(NoUsableFrames):
        await Stage().load(1, 2)
    assert (await Stage().load()).prompt.frames == ()


@pytest.mark.parametrize("silent", [False, True])
async def test_without_redis_what_this_process_holds_goes_inline_thinned(silent: bool) -> None:
    stage = Stage(*range(20))
    stage.frames.away, stage.frames.silent = True, silent
    stage.hold(*range(20))
    load = await stage.load(*range(20))

    assert load.inline is not None
    assert len(load.inline) == LIMITS.inline_frames


async def test_without_redis_and_frames_of_its_own_it_says_so() -> None:
    stage = Stage(1)
    stage.frames.away = True
    with pytest.raises(DecoderUnavailable, match="Redis"):
        await stage.load(1)


async def test_after_a_refusal_forged_and_foreign_frames_are_found_and_left_out_for_a_while() -> None:
    stage = Stage(*range(30))
    stage.frames.forged = {ref_of(3, TINY)}
    stage.frames.redis[ref_of(4, TINY)] = features_of(4, TINY, width=9)
    load = await stage.load(*range(30), attempt=2)

    assert load.refused == refs(3, 4)
    assert stage.meter.total(Metric.FEATURES_REFUSED) == 1, "who read the forged one has counted it"
    assert (await stage.load(*range(30))).refused == refs(3, 4)
    assert stage.meter.total(Metric.FEATURES_REFUSED) == 1
    stage.clock.advance(LIMITS.unreadable_us)
    assert (await stage.load(*range(30))).refused == ()


async def test_a_refusal_with_every_frame_well_is_asked_again_as_it_was() -> None:
    stage = Stage(1, 2)
    assert await stage.load(1, 2, attempt=2) == Load(prompt_of(1, 2))


async def test_after_two_refusals_what_is_held_here_goes_inline_for_vllm_may_not_reach_redis() -> None:
    stage = Stage(1, 2)
    assert (await stage.load(1, 2, attempt=3)).inline is None
    stage.hold(1, 2)
    inline = (await stage.load(1, 2, attempt=3)).inline
    assert inline is not None
    assert list(inline) == list(refs(1, 2))


async def test_held_features_of_another_model_are_not_sent() -> None:
    stage = Stage()
    stage.frames.away = True
    stage.frames.mine = {
        ref_of(1, TINY): features_of(1, TINY, width=9),
        ref_of(2, TINY): features_of(2, TINY),
    }
    load = await stage.load(1, 2)

    assert load.refused == refs(1)
    assert list(load.inline or ()) == list(refs(2))


async def test_without_a_source_every_frame_with_a_grid_goes_by_ref() -> None:
    loader = FrameLoader(None, TINY, limits=LIMITS, clock=ManualClock(), meter=TallyMeter())
    bare = FramePart("[x]", ref_of(2, TINY))
    load = await loader.load(Prompt("S.", (frame_of(1, TINY), bare), "Q?"), attempt=1)

    assert shown(load) == list(refs(1))
    assert load.refused == refs(2)


@pytest.mark.parametrize(("most", "kept"), [(1, [9]), (2, [0, 9]), (4, [0, 3, 6, 9]), (10, list(range(10)))])
def test_thinning_is_even_and_keeps_both_ends(most: int, kept: list[int]) -> None:
    frames = prompt_of(*range(10)).frames
    assert thinned(frames, most) == tuple(frames[n] for n in kept)


def test_few_is_one_in_eight() -> None:
    assert missing_is_few(0, 1)
    assert missing_is_few(1, 8)
    assert not missing_is_few(1, 7)
    assert missing_is_few(8, 64)


def test_a_frame_that_is_left_out_goes_with_its_label() -> None:
    prompt = prompt_of(1, 2)
    load = keeping(prompt, prompt.frames[1:])
    assert [part for part in load.prompt.parts if isinstance(part, FramePart)] == [prompt.frames[1]]
