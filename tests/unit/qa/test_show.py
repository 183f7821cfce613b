"""What the decoder is shown, and half of it."""

from dataclasses import replace

from models.decoder import ModelProfile, Reads
from qa.choose import CELL_US
from qa.hear import hear
from qa.look import fetch, look
from qa.looks import Looks, Sight
from qa.show import Shown
from tests.support.qa_stage import SECOND_US, Stage
from tests.support.windows import ENCODER

PICTURES = ModelProfile("eyes", Reads.JPEG, frame_tokens=32, window_tokens=2_048)
FEATURES = ModelProfile("real", Reads.FEATURES, frame_tokens=4, window_tokens=256, encoder_version=ENCODER)


async def shown(
    *, count: int, step_us: int = SECOND_US, profile: ModelProfile = PICTURES, features: bool = False
) -> Shown:
    stage = await Stage.open()
    await stage.frames(count=count, step_us=step_us, features=features)
    heard = await hear(stage.question("what happened in the last 30 seconds?"), stage.parts(), stage.settings)
    seen = await look(heard, stage.window, profile=profile)
    stored = await fetch(seen.chosen, stage.window, profile=profile)
    return Shown(heard, Looks((Sight(heard, seen),)), profile.reads, stored)


async def test_the_prompt_and_what_answers_show_are_of_the_same_frames() -> None:
    showing = await shown(count=10)
    assert [part.ref for part in showing.prompt().frames] == [frame.ref for frame in showing.frames]
    assert [part.label for part in showing.prompt().frames] == [frame.label for frame in showing.frames]
    assert showing.pictures == 10


async def test_features_are_no_pictures_to_encode() -> None:
    assert (await shown(count=10, profile=FEATURES, features=True)).pictures == 0


async def test_half_keeps_both_ends_and_an_even_choice_between_in_order() -> None:
    whole = await shown(count=24, step_us=CELL_US)
    half = whole.half()
    assert half is not None
    assert half.halved
    times = [frame.t_us for frame in half.stored]
    assert 6 < len(times) <= 12
    assert times == sorted(times)
    assert (times[0], times[-1]) == (whole.stored[0].t_us, whole.stored[-1].t_us)


async def test_a_half_is_not_halved_again_and_one_frame_not_at_all() -> None:
    two = (await shown(count=2)).half()
    assert two is not None
    assert len(two.stored) == 1
    three = (await shown(count=3)).half()
    assert three is not None
    assert len(three.stored) == 2
    assert three.half() is None
    assert (await shown(count=1)).half() is None


async def test_frames_that_aged_out_since_they_were_chosen_do_not_come_back() -> None:
    whole = await shown(count=8)
    left = replace(whole, stored=whole.stored[3:])
    half = left.half()
    assert half is not None
    assert half.stored[0] == whole.stored[3]
    assert len(half.stored) <= 3


async def test_frames_left_out_are_not_used_and_unknown_ones_change_nothing() -> None:
    showing = await shown(count=5)
    refs = [frame.ref for frame in showing.stored]
    assert showing.used(()) == 5
    assert showing.used((refs[0], refs[0], refs[4], refs[4].replace("gate", "yard"))) == 3
