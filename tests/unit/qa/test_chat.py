"""Dialogues about pictures, from what was sent to the words, with a scripted decoder and an encoder that is told what to see."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.clock import ManualClock
from core.errors import ServiceError
from core.frames import BadFeatures, Features, FeatureType, Picture
from core.ids import RequestId
from core.meter import Metric, TallyMeter
from models.chat import SYSTEM_TEXT
from models.decoder import Finish, ModelProfile, Reads, SamplingParams, Usage
from models.errors import DecoderUnavailable, NoUsableFrames
from models.prompt import Role, TextPart
from qa.chat import Chat
from qa.chat_ports import ChatParts
from qa.chat_settings import ChatSettings
from qa.chat_values import ChatDone, ChatModel, ChatPiece, ChatQuestion, ChatValue, SentMessage, SentPicture
from qa.errors import (
    InvalidDialogue,
    ModelNotFound,
    NoChatModel,
    PictureNotKnown,
    PictureRequired,
    PictureTooLarge,
    PictureUnreadable,
)
from qa.priority import CHAT_PRIORITY
from tests.support.scripted_decoder import Script, ScriptedDecoder
from tests.support.tiny_model import eventually

VERSION = "0123456789ab"
READS_FEATURES = ModelProfile("eyes", Reads.FEATURES, 24, 500, VERSION)
READS_JPEG = ModelProfile("far", Reads.JPEG, 24, 500)
TOY = ModelProfile("builtin", Reads.FEATURES, 24, 500, VERSION, own_world=True)
FEATURES = Features(np.ones((4, 8), "<u2").tobytes(), FeatureType.BF16, (4, 8), (1, 4, 4), VERSION)


def png(grey: int = 90, size: tuple[int, int] = (64, 48)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, (grey, grey, grey)).save(written, "PNG")
    return written.getvalue()


class Eyes:
    """An encoder that sees what it is told to; ``seen`` counts."""

    def __init__(self) -> None:
        self.sees: Features | Exception | None = FEATURES
        self.seen: list[Picture] = []
        self.running = 0
        self.most = 0

    async def encode(self, picture: Picture) -> Features | None:
        self.seen.append(picture)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.001)
        finally:
            self.running -= 1
        if isinstance(self.sees, Exception):
            raise self.sees
        return self.sees


class Stage:
    """A chat with everything around it."""

    def __init__(
        self,
        *scripts: Script,
        profile: ModelProfile = READS_FEATURES,
        settings: ChatSettings | None = None,
        knows: Callable[[Picture], bool] | None = None,
    ) -> None:
        self.decoder: ScriptedDecoder | None = ScriptedDecoder(*scripts, profile=profile)
        self.eyes: Eyes | None = Eyes()
        self.meter = TallyMeter()
        self.clock = ManualClock()
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        parts = ChatParts(
            lambda: self.decoder, lambda: self.eyes, self.executor, self.clock, knows, self.meter
        )
        self.chat = Chat(parts, settings)

    @property
    def asked(self) -> Any:
        assert self.decoder is not None
        return self.decoder.asked[-1]

    def outcomes(self) -> dict[str, int]:
        return {
            dict(labels)["outcome"]: n for (m, labels), n in self.meter.counts.items() if m is Metric.CHATS
        }

    def pictures(self) -> dict[str, int]:
        return {
            dict(labels)["how"]: n
            for (m, labels), n in self.meter.counts.items()
            if m is Metric.CHAT_PICTURES
        }


@pytest.fixture
async def stages() -> AsyncIterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(*scripts: Script, **how: Any) -> Stage:
        made.append(Stage(*scripts, **how))
        return made[-1]

    yield make
    for stage in made:
        stage.executor.shutdown()


def said(role: str, *parts: str | bytes) -> SentMessage:
    return SentMessage(
        Role(role), tuple(TextPart(p) if isinstance(p, str) else SentPicture(p) for p in parts)
    )


def question(*parts: str | bytes, model: str = "eyes", **more: Any) -> ChatQuestion:
    messages = more.pop("messages", None) or (said("user", *parts),)
    return ChatQuestion(RequestId("req_1"), model, tuple(messages), **more)


async def answer(stage: Stage, asked: ChatQuestion) -> list[ChatValue]:
    async with aclosing(stage.chat.chat(asked)) as values:
        return [value async for value in values]


def text_of(values: list[ChatValue]) -> str:
    return "".join(value.text for value in values if isinstance(value, ChatPiece))


async def refused(stage: Stage, asked: ChatQuestion, error: type[ServiceError]) -> None:
    with pytest.raises(error):
        await answer(stage, asked)


# ---------------------------------------------------------------- words


async def test_words_come_piece_by_piece_and_then_the_end_with_what_it_took(stages: Any) -> None:
    stage = stages(Script(("A ", "grey ", "wall."), usage=Usage(40, 3)))
    values = await answer(stage, question(png(), "what is it?"))

    assert values == [
        ChatPiece("A "),
        ChatPiece("grey "),
        ChatPiece("wall."),
        ChatDone(Finish.STOP, Usage(40, 3)),
    ]
    assert stage.outcomes() == {"ok": 1}
    assert len(stage.meter.observed[Metric.CHAT_FIRST_WORD_SECONDS, ()]) == 1


async def test_the_dialogue_reaches_the_decoder_as_it_was_written_behind_every_live_question(
    stages: Any,
) -> None:
    stage = stages()
    messages = [said("system", "brief"), said("user", "this", png(), "what?")]
    await answer(
        stage, question(messages=messages, max_tokens=9, temperature=0.5, top_p=0.9, seed=7, stop=("END",))
    )

    (dialogue,) = stage.decoder.dialogues
    assert [(m.role, m.text) for m in dialogue.messages] == [(Role.SYSTEM, "brief"), (Role.USER, "thiswhat?")]
    assert [picture.features for picture in dialogue.frames] == [FEATURES]
    assert stage.asked.sampling == SamplingParams(9, 0.5, 7, 0.9, ("END",))
    assert stage.asked.priority == CHAT_PRIORITY > 0


@pytest.mark.parametrize(("asked", "given"), [(None, 5), (3, 3), (99, 10)])
async def test_the_limit_of_tokens_is_the_clients_within_the_settings(
    stages: Any, asked: int | None, given: int
) -> None:
    stage = stages(settings=ChatSettings(default_max_tokens=5, max_tokens=10))
    await answer(stage, question("hello", max_tokens=asked))
    assert stage.asked.sampling.max_tokens == given


async def test_an_answer_cut_by_its_limit_says_so(stages: Any) -> None:
    stage = stages(Script.of("a", "b", "c"))
    assert (await answer(stage, question("hi", max_tokens=2)))[-1].finish is Finish.LENGTH
    assert stage.outcomes() == {"shortened": 1}


async def test_words_alone_are_answered_too(stages: Any) -> None:
    stage = stages()
    assert text_of(await answer(stage, question("hello"))) == "Nothing moved."
    assert stage.eyes.seen == []


# ---------------------------------------------------------------- pictures


async def test_the_same_picture_is_encoded_once_however_often_it_is_sent(stages: Any) -> None:
    stage = stages()
    first = said("user", png(1), png(2), png(1), "what?")
    await answer(stage, question(messages=[first]))
    await answer(stage, question(messages=[first, said("assistant", "Grey."), said("user", "sure?")]))

    assert len(stage.eyes.seen) == 2
    assert stage.pictures() == {"encoded": 2, "kept": 4}
    refs = [[picture.ref for picture in dialogue.frames] for dialogue in stage.decoder.dialogues]
    assert refs[0] == refs[1]
    assert refs[0][0] == refs[0][2] != refs[0][1]


async def test_pictures_of_chat_leave_room_in_the_encoder(stages: Any) -> None:
    stage = stages(settings=ChatSettings(kept_bytes=0))
    await asyncio.gather(*(answer(stage, question(png(n), "what?")) for n in range(6)))
    assert len(stage.eyes.seen) == 6
    assert stage.eyes.most <= 2


async def test_a_decoder_with_eyes_of_its_own_gets_the_picture_as_jpeg(stages: Any) -> None:
    stage = stages(profile=READS_JPEG)
    await answer(stage, question(png(size=(640, 480)), "what?", model="far"))
    (picture,) = stage.decoder.dialogues[0].frames
    assert Image.open(io.BytesIO(picture.jpeg)).size == (640, 480)
    assert picture.features is None
    assert stage.eyes.seen == []
    assert stage.pictures() == {"sent": 1}


@pytest.mark.parametrize(
    ("data", "error"),
    [(png()[:60], PictureUnreadable), (png(size=(400, 400)), PictureTooLarge)],
)
async def test_a_file_that_is_no_picture_to_look_at_reaches_nobody(
    stages: Any, data: bytes, error: type[ServiceError]
) -> None:
    stage = stages(settings=ChatSettings(picture_pixels=100_000))
    await refused(stage, question(data, "what?"), error)
    assert stage.eyes.seen == []
    assert stage.decoder.asked == []
    assert stage.outcomes() == {"refused": 1}
    assert stage.pictures() == {"refused": 1}


async def test_features_that_make_no_sense_are_no_answer(stages: Any) -> None:
    stage = stages()
    stage.eyes.sees = BadFeatures("not finite")
    await refused(stage, question(png(), "what?"), NoUsableFrames)
    stage.eyes.sees = DecoderUnavailable("gone")
    await refused(stage, question(png(), "what?"), DecoderUnavailable)
    stage.eyes.sees = FEATURES
    assert text_of(await answer(stage, question(png(), "what?")))
    assert stage.outcomes() == {"failed": 2, "ok": 1}


async def test_a_model_that_reads_features_without_an_encoder_is_away(stages: Any) -> None:
    stage = stages()
    stage.eyes = None
    await refused(stage, question(png(), "what?"), DecoderUnavailable)


# ---------------------------------------------------------------- a model of one world


async def test_the_built_in_model_is_asked_as_about_a_camera_and_says_what_it_knows(stages: Any) -> None:
    stage = stages(Script.of("Two at [12:00:00]."), profile=TOY)
    values = await answer(stage, question(png(), "How many?", model="builtin"))

    system, user = stage.decoder.dialogues[0].messages
    assert system.text == SYSTEM_TEXT
    assert user.text.startswith("[12:00:00]")
    assert user.text.endswith("How many?")
    notice = values[-1].notice
    assert notice is not None
    assert "knows only the scenes that livelens generates" in notice
    assert "the first" in notice


async def test_a_notice_is_in_the_language_of_the_question(stages: Any) -> None:
    stage = stages(profile=TOY)
    values = await answer(stage, question(png(), "有几个？", model="builtin"))
    assert "只认识" in (values[-1].notice or "")


async def test_a_picture_of_another_world_is_refused_with_its_number(stages: Any) -> None:
    stage = stages(profile=TOY)
    stage.eyes.sees = None
    with pytest.raises(PictureNotKnown, match="picture 1 "):
        await answer(stage, question(png(), "How many?", model="builtin"))
    assert stage.decoder.asked == []
    assert stage.pictures() == {"refused": 1}


async def test_a_model_of_one_world_at_an_address_is_shown_only_what_it_knows(stages: Any) -> None:
    far_toy = ModelProfile("builtin", Reads.REFS, 24, 500, VERSION, own_world=True)
    asked = question(png(), "How many?", model="builtin")
    await refused(stages(profile=far_toy), asked, PictureNotKnown)
    await refused(stages(profile=far_toy, knows=lambda _: False), asked, PictureNotKnown)
    stage = stages(profile=far_toy, knows=lambda picture: picture.width_px == 64)
    assert text_of(await answer(stage, asked))
    assert stage.decoder.dialogues[0].frames[0].jpeg


async def test_a_model_of_one_world_does_not_just_talk(stages: Any) -> None:
    await refused(stages(profile=TOY), question("hello", model="builtin"), PictureRequired)


# ---------------------------------------------------------------- nobody there, or failing


async def test_who_answers_is_listed_and_nobody_else_can_be_asked(stages: Any) -> None:
    stage = stages()
    assert stage.chat.models() == (ChatModel("eyes", stage.clock.now_us()),)
    with pytest.raises(ModelNotFound, match="'eyes'"):
        await answer(stage, question("hi", model="gpt-4o"))
    stage.decoder = None
    assert stage.chat.models() == ()
    await refused(stage, question("hi"), NoChatModel)
    assert stage.outcomes() == {"refused": 2}


async def test_messages_that_make_no_dialogue_are_refused_before_any_work(stages: Any) -> None:
    stage = stages()
    await refused(stage, question(messages=[said("user", png()), said("assistant", "a")]), InvalidDialogue)
    assert stage.eyes.seen == []


async def test_a_model_that_is_unwell_is_not_asked(stages: Any) -> None:
    stage = stages()
    stage.decoder.set_healthy(False)
    await refused(stage, question("hi"), DecoderUnavailable)
    assert stage.decoder.asked == []


async def test_a_failure_amid_the_words_is_told_after_them(stages: Any) -> None:
    stage = stages(Script(("a", "b"), error=DecoderUnavailable("broke"), error_at=1))
    async with aclosing(stage.chat.chat(question("hi"))) as values:
        assert await anext(values) == ChatPiece("a")
        with pytest.raises(DecoderUnavailable):
            await anext(values)
    assert stage.outcomes() == {"failed": 1}


@pytest.mark.parametrize("stall_at", [0, 1])
async def test_a_silent_model_is_given_up(stages: Any, stall_at: int) -> None:
    settings = ChatSettings(first_word_limit_s=0.05, stall_limit_s=0.05)
    stage = stages(Script(("a", "b"), stall_at=stall_at), settings=settings)
    with pytest.raises(DecoderUnavailable, match="nothing came"):
        await answer(stage, question("hi"))
    assert stage.decoder.running == 0


async def test_an_encoder_that_does_not_get_to_a_picture_is_given_up(stages: Any) -> None:
    class Busy(Eyes):
        async def encode(self, picture: Picture) -> Features | None:
            await asyncio.Event().wait()
            return None

    stage = stages(settings=ChatSettings(first_word_limit_s=0.05))
    stage.eyes = Busy()
    with pytest.raises(DecoderUnavailable, match="in time"):
        await answer(stage, question(png(), "hi"))


async def test_closing_early_aborts_the_request_in_the_decoder(stages: Any) -> None:
    stage = stages(Script(("a", "b"), stall_at=1))
    async with aclosing(stage.chat.chat(question("hi"))) as values:
        assert await anext(values) == ChatPiece("a")
    assert stage.decoder.closed_early == [RequestId("req_1")]
    assert stage.outcomes() == {"cancelled": 1}


async def test_cancelling_before_the_first_word_leaves_nothing_running(stages: Any) -> None:
    stage = stages(Script(stall_at=0))
    task = asyncio.create_task(answer(stage, question(png(), "hi")))
    await eventually(lambda: stage.decoder.running == 1, within_s=2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.decoder.running == 0
    assert stage.outcomes() == {"cancelled": 1}
