import asyncio
from dataclasses import dataclass

import pytest

from bench.accuracy_asking import ask_about
from bench.accuracy_scenes import RecordedScene, record
from core.frames import Features, Picture
from models.builtin.scenes import draw
from models.builtin.wording import Asked
from models.decoder import ModelProfile, Reads
from models.errors import DecoderUnavailable
from tests.support.scripted_decoder import Script, ScriptedDecoder
from tests.support.toy_scenes import SECOND, scene, thing
from tests.support.windows import ENCODER, features_of

PROFILE = ModelProfile("toy", Reads.FEATURES, 32, 2_048, ENCODER)


@dataclass(frozen=True, slots=True)
class FixedEncoder:
    """Gives every picture the same features."""

    version: str = ENCODER
    frame_detail: str = "32"

    async def encode(self, picture: Picture) -> Features | None:
        await asyncio.sleep(0)
        return features_of()


@pytest.fixture(scope="module")
def quiet() -> RecordedScene:
    """Return a scene in which a red circle stands at the top left all the time."""
    truth = scene(thing(1, "red", "circle", at=(0.15, 0.2)), seconds=12)
    times = range(0, 12 * SECOND, SECOND // 5)
    return record(truth, draw(1, truth, times), fps=5, crf=25, start_us=1_790_000_000 * SECOND)


async def test_answers_are_judged_by_what_the_frames_show(quiet: RecordedScene) -> None:
    decoder = ScriptedDecoder(
        lambda asked: Script.of("One." if asked.prompt.question.isascii() else "一个。"), profile=PROFILE
    )
    kinds = [[Asked.HOW_MANY], [Asked.COLOUR], [Asked.HOW_MANY, Asked.HOW_MANY]]
    answers = await ask_about(quiet, kinds, name="1", decoder=decoder, encoder=FixedEncoder())
    assert len(answers) == 4
    for answer in answers:
        assert answer.exact == (answer.answer in ("One.", "一个。"))
        assert answer.true == answer.exact
        assert answer.frames > 0
    assert [answer.turns for answer in answers] == [0, 0, 0, 1]
    assert decoder.asked[-1].prompt.history or decoder.asked[-2].prompt.history


async def test_an_answer_that_the_model_did_not_give_is_wrong(quiet: RecordedScene) -> None:
    decoder = ScriptedDecoder(Script(error=DecoderUnavailable("away")), profile=PROFILE)
    [answer] = await ask_about(quiet, [[Asked.MOVED]], name="1", decoder=decoder, encoder=FixedEncoder())
    assert answer.given
    assert not answer.exact
    assert not answer.true


async def test_the_prompt_is_the_products_own(quiet: RecordedScene) -> None:
    decoder = ScriptedDecoder(Script.of("Nothing."), profile=PROFILE)
    await ask_about(quiet, [[Asked.SEE]] * 3, name="2", decoder=decoder, encoder=FixedEncoder())
    for asked in decoder.asked:
        assert asked.prompt.frames
        assert all(frame.features is not None for frame in asked.prompt.frames)
        assert "It is now" in str(asked.prompt.parts[-1])
