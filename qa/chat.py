"""Still-image chat: a dialogue with pictures in, one stream of values out.

    ChatQuestion ─check▶ each picture: read, encoded (or known from before) ─▶ prompt ─▶ decoder ─▶ ChatPiece ..., ChatDone

One dialogue is one async generator and starts no task. Closing it early aborts the request in the decoder. Chat is of
the batch lane: questions about cameras go first in the engine.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

from core.errors import ErrorKind, ServiceError
from core.frames import BadFeatures, Features
from core.ids import FrameRef
from core.meter import Metric
from models.decoder import Decoder, Finish, ModelProfile, Reads, SamplingParams, Usage
from models.errors import DecoderUnavailable, NoUsableFrames
from models.prompt import Dialogue, PicturePart
from qa.chat_ports import ChatParts, PictureEncoder
from qa.chat_prompt import camera_question, check_messages, dialogue_of, label_notice, picture_ref
from qa.chat_settings import ChatSettings
from qa.chat_shelf import FeatureShelf
from qa.chat_values import ChatDone, ChatModel, ChatPiece, ChatQuestion, ChatValue, SentPicture
from qa.errors import ModelNotFound, NoChatModel, PictureNotKnown
from qa.language import language_of
from qa.pictures import StillPicture, read_picture
from qa.priority import CHAT_PRIORITY
from qa.speak import closing, next_delta
from qa.wording import own_world_text

_log = logging.getLogger(__name__)

_ENCODING = 2
"""Pictures of chat in the encoder at a time, so that cameras' frames find room in every batch."""

T = TypeVar("T")


class Chat:
    """Answers dialogues about pictures by the decoder that answers here."""

    def __init__(self, parts: ChatParts, settings: ChatSettings | None = None) -> None:
        self._parts = parts
        self._settings = settings or ChatSettings()
        self._since_us = parts.clock.now_us()
        self._shelf = FeatureShelf(self._settings.kept_bytes)
        self._encoding = asyncio.Semaphore(_ENCODING)

    def models(self) -> tuple[ChatModel, ...]:
        """Return who answers here; nobody where no model was named."""
        decoder = self._parts.decoder()
        return () if decoder is None else (ChatModel(decoder.profile.name, self._since_us),)

    async def chat(self, question: ChatQuestion) -> AsyncGenerator[ChatValue, None]:
        """Stream one answer: ChatPiece ..., ChatDone. Closing it early aborts the request in the decoder.

        Raises:
            NoChatModel, ModelNotFound: nobody answers here, or not who was asked.
            InvalidDialogue, DialogueTooLong, TooManyPictures, PictureRequired: the messages cannot be answered.
            PictureTooLarge, PictureUnreadable, UnknownPictureFormat, PictureNotKnown: a picture cannot be looked at.
            DecoderUnavailable and the decoder's other errors: also amid the words.
        """
        outcome = "cancelled"
        try:
            async with aclosing(self._answer(question)) as values:
                async for value in values:
                    if isinstance(value, ChatDone):
                        outcome = "ok" if value.finish is Finish.STOP else "shortened"
                    yield value
        except ServiceError as error:
            refused = error.kind in (ErrorKind.INVALID, ErrorKind.NOT_FOUND, ErrorKind.TOO_LARGE)
            outcome = "refused" if refused else "failed"
            raise
        finally:
            self._parts.meter.count(Metric.CHATS, outcome=outcome)

    async def _answer(self, question: ChatQuestion) -> AsyncGenerator[ChatValue, None]:
        began_us = self._parts.clock.mono_us()
        decoder = self._decoder(question.model)
        check_messages(question.messages, self._settings)
        try:
            async with asyncio.timeout(self._settings.first_word_limit_s):
                dialogue = await self._dialogue(question, decoder.profile)
        except TimeoutError:
            raise DecoderUnavailable("its encoder did not get to the pictures in time") from None
        pieces: list[str] = []
        async with aclosing(self._speak(decoder, dialogue, question)) as values:
            async for value in values:
                if isinstance(value, ChatPiece):
                    if not pieces:
                        first_s = (self._parts.clock.mono_us() - began_us) / 1e6
                        self._parts.meter.observe(Metric.CHAT_FIRST_WORD_SECONDS, first_s)
                    pieces.append(value.text)
                    yield value
                else:
                    notice = self._notice(decoder.profile, question, "".join(pieces))
                    yield ChatDone(value.finish, value.usage, notice)

    def _decoder(self, model: str) -> Decoder:
        decoder = self._parts.decoder()
        if decoder is None:
            raise NoChatModel
        if model != decoder.profile.name:
            raise ModelNotFound(model, decoder.profile.name)
        if not decoder.healthy():
            raise DecoderUnavailable("it failed a moment ago")
        return decoder

    # ------------------------------------------------------------ pictures

    async def _dialogue(self, question: ChatQuestion, profile: ModelProfile) -> Dialogue:
        sent = [picture for message in question.messages for picture in message.pictures]
        pictures = [await self._see(picture, number, profile) for number, picture in enumerate(sent, 1)]
        if profile.own_world:
            return camera_question(question.messages, pictures, model=profile.name)
        return dialogue_of(question.messages, pictures)

    async def _see(self, sent: SentPicture, number: int, profile: ModelProfile) -> PicturePart:
        """Return a picture as the model reads it. ``number`` counts from 1, for people."""
        digest = await self._aside(lambda: hashlib.sha256(sent.data).hexdigest())
        ref = picture_ref(digest, profile)
        if profile.reads is Reads.FEATURES:
            features = self._shelf.get(ref)
            if features is None:
                features = await self._encode(await self._read(sent), number, profile)
                self._shelf.put(ref, features)
                self._count("encoded")
            else:
                self._count("kept")
            return PicturePart(ref, features=features)
        return await self._written(ref, await self._read(sent), number, profile)

    async def _read(self, sent: SentPicture) -> StillPicture:
        try:
            return await self._aside(
                lambda: read_picture(sent.data, max_pixels=self._settings.picture_pixels)
            )
        except ServiceError:
            self._count("refused")
            raise

    async def _encode(self, picture: StillPicture, number: int, profile: ModelProfile) -> Features:
        encoder = self._encoder()
        async with self._encoding:
            try:
                features = await encoder.encode(picture)
            except BadFeatures as error:
                raise NoUsableFrames(1, str(error)) from None
        if features is None:
            self._count("refused")
            raise PictureNotKnown(profile.name, number)
        return features

    async def _written(
        self, ref: FrameRef, picture: StillPicture, number: int, profile: ModelProfile
    ) -> PicturePart:
        """Return a picture as JPEG, for a decoder with an encoder of its own."""
        knows = self._parts.knows
        if profile.own_world and (knows is None or not await self._aside(lambda: knows(picture))):
            self._count("refused")
            raise PictureNotKnown(profile.name, number)
        self._count("sent")
        return PicturePart(ref, jpeg=await self._aside(picture.jpeg))

    def _encoder(self) -> PictureEncoder:
        encoder = self._parts.encoder()
        if encoder is None:
            raise DecoderUnavailable("it has no encoder for pictures")
        return encoder

    async def _aside(self, work: Callable[[], T]) -> T:
        """Do something that takes long in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._parts.executor, work)

    def _count(self, how: str) -> None:
        self._parts.meter.count(Metric.CHAT_PICTURES, how=how)

    # ------------------------------------------------------------ words

    async def _speak(
        self, decoder: Decoder, dialogue: Dialogue, question: ChatQuestion
    ) -> AsyncGenerator[ChatValue, None]:
        finish: Finish = Finish.STOP
        usage: Usage | None = None
        limit_s = self._settings.first_word_limit_s
        words = decoder.generate(
            dialogue, request_id=question.id, sampling=self._sampling(question), priority=CHAT_PRIORITY
        )
        async with closing(words) as deltas:
            while True:
                try:
                    delta = await next_delta(deltas, limit_s)
                except TimeoutError:
                    raise DecoderUnavailable(f"nothing came for {limit_s:.0f} s") from None
                if delta is None:
                    break
                usage, finish = delta.usage or usage, delta.finish or finish
                if delta.text:
                    limit_s = self._settings.stall_limit_s
                    yield ChatPiece(delta.text)
        yield ChatDone(finish, usage)

    def _sampling(self, question: ChatQuestion) -> SamplingParams:
        settings = self._settings
        wanted = settings.default_max_tokens if question.max_tokens is None else question.max_tokens
        return SamplingParams(
            max_tokens=max(1, min(wanted, settings.max_tokens)),
            temperature=question.temperature,
            seed=question.seed,
            top_p=question.top_p,
            stop=question.stop,
        )

    def _notice(self, profile: ModelProfile, question: ChatQuestion, answer: str) -> str | None:
        if not profile.own_world:
            return None
        language = language_of(question.messages[-1].text)
        notices = (own_world_text(profile.name, language), label_notice(answer, language))
        return " ".join(notice for notice in notices if notice)
