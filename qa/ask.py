"""Ask: one question in, one stream of values out.

    Question ─hear▶ camera, span ─look▶ frames, coverage ─fetch▶ ─prompt▶ decoder ─▶ AnswerStarted, AnswerDelta ..., AnswerDone
                                          └ nothing seen ▶ a sentence      └ away ▶ the measured answer

One question is one async generator and starts no task. Closing it early aborts the request in the decoder.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from core.errors import ServiceError
from core.meter import Metric
from models.decoder import Decoder, ModelProfile
from qa.answers import (
    Answer,
    AnswerDone,
    AnswerStarted,
    AnswerUsage,
    Language,
    Outcome,
    Question,
    UsedFrame,
)
from qa.hear import Heard, hear
from qa.look import fetch
from qa.looks import Looks, look_at_all
from qa.ports import MEASURED, AskParts
from qa.priority import estimated_tokens, live_priority
from qa.settings import AskSettings
from qa.show import Shown
from qa.sight_words import limits_of_sight, measure, unanswerable
from qa.speak import NoRoom, NoWords, Speech, speak
from qa.telling import Stopwatch, Telling
from qa.when_clock import NoteKind
from qa.window_text import window_text
from qa.wording import (
    alone_text,
    degraded_text,
    foreign_text,
    halved_text,
    no_frames_text,
    note_text,
    own_world_text,
)
from store.conversations import StoredTurn

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Turn:
    """One question on its way: what is known of it so far, and what its last value will say."""

    heard: Heard
    watch: Stopwatch
    encoded_before: int
    outcome: Outcome = Outcome.OK
    usage: AnswerUsage = field(default_factory=AnswerUsage)
    announced: tuple[UsedFrame, ...] = ()
    frames_used: int = 0
    pictures_sent: int = 0
    model: str = MEASURED
    notices: tuple[str, ...] = ()

    def notice(self, text: str) -> None:
        self.notices = (*self.notices, text)


class Asker:
    """Answers questions from the window: by the decoder where there is one, and by measurement otherwise."""

    def __init__(self, parts: AskParts, settings: AskSettings | None = None) -> None:
        self._parts = parts
        self._settings = settings or AskSettings()

    async def ask(self, question: Question) -> AsyncGenerator[Answer, None]:
        """Stream one answer: AnswerStarted, AnswerDelta ..., AnswerDone.

        Closing the iterator early aborts the request in the decoder, stores nothing, and counts as cancelled.

        Raises:
            EmptyQuestion, QuestionTooLong, AskedAtInFuture, InvalidWindow, SeveralCameras, CameraRequired,
            UnknownConversation, UnknownCamera, WindowUnavailable: before the first value.
        """
        done = False
        try:
            async with aclosing(self._answer(question)) as answer:
                async for value in answer:
                    done = done or isinstance(value, AnswerDone)
                    yield value
        except (GeneratorExit, asyncio.CancelledError):
            if not done:
                self._parts.meter.count(Metric.QUESTIONS, outcome=Outcome.CANCELLED)
            raise

    async def _answer(self, question: Question) -> AsyncGenerator[Answer, None]:
        parts = self._parts
        watch = Stopwatch(parts.clock, question.received_us)
        heard = await hear(question, parts, self._settings)
        watch.heard()
        turn = _Turn(heard, watch, parts.encoded_for(question.id))
        if heard.when.note is not None and heard.when.note.kind is NoteKind.ASSUMED:
            turn.notice(note_text(heard.when.note, heard.camera.zone, heard.language))
        decoder = parts.decoder()
        healthy = decoder is not None and decoder.healthy()
        seen = await look_at_all(
            heard, parts.window, profile=decoder.profile if decoder and healthy else None
        )
        why = degraded_text if decoder is not None and not healthy else None
        if seen.foreign:
            why = foreign_text
        elif decoder is not None and decoder.profile.own_world and seen.several:
            why = why or alone_text
        if why in (foreign_text, alone_text):
            seen = await look_at_all(heard, parts.window, profile=None)
        if seen.outcome is not Outcome.OK:
            stream = self._explain(turn, seen)
        elif decoder is not None and why is None:
            stream = self._decode(turn, seen, decoder)
        else:
            if decoder is not None and why is not None:
                turn.notice(why(decoder.profile.name, heard.language))
            stream = self._measure(turn, seen)
        async with aclosing(stream):
            async for value in stream:
                yield value

    # ------------------------------------------------------------ the three ways to answer

    async def _explain(self, turn: _Turn, seen: Looks) -> AsyncGenerator[Answer, None]:
        """Say why there is nothing to look at, and what to try."""
        turn.outcome = seen.outcome
        self._fetched(turn)
        yield self._started(turn, seen, ())
        telling = self._telling(turn, seen, ())
        sentences = unanswerable(seen)
        async with aclosing(self._tell(turn, seen, telling, sentences)) as values:
            async for value in values:
                yield value

    async def _measure(self, turn: _Turn, seen: Looks) -> AsyncGenerator[Answer, None]:
        """Answer from records alone."""
        sentences, frames = measure(seen, self._parts.word_measured)
        turn.frames_used = len(frames)
        self._fetched(turn)
        yield self._started(turn, seen, frames)
        telling = self._telling(turn, seen, frames)
        async with aclosing(self._tell(turn, seen, telling, sentences)) as values:
            async for value in values:
                yield value

    async def _decode(self, turn: _Turn, seen: Looks, decoder: Decoder) -> AsyncGenerator[Answer, None]:
        """Answer by the decoder; where it says nothing at all, by measurement, marked by a notice."""
        heard, profile = turn.heard, decoder.profile
        stored = await fetch(seen.chosen, self._parts.window, profile=profile)
        if not stored:
            seen = await look_at_all(heard, self._parts.window, profile=None)
            if seen.outcome is Outcome.OK:
                turn.notice(no_frames_text(profile.name, heard.language))
            without = self._measure if seen.outcome is Outcome.OK else self._explain
            async with aclosing(without(turn, seen)) as values:
                async for value in values:
                    yield value
            return
        self._fetched(turn)
        shown = Shown(heard, seen, profile.reads, stored)
        frames = shown.frames
        yield self._started(turn, seen, frames)
        telling = self._telling(turn, seen, frames)
        for sentence in self._preface(turn):
            yield telling.say(sentence + _between_sentences(heard.language))
        async with aclosing(self._speak(turn, decoder, shown, telling)) as values:
            async for value in values:
                yield value

    async def _speak(
        self, turn: _Turn, decoder: Decoder, shown: Shown, telling: Telling
    ) -> AsyncGenerator[Answer, None]:
        """Let the decoder speak; once more with half of the frames where all of them do not fit."""
        profile = decoder.profile
        speech = self._speech(turn, profile, shown)
        words = speak(decoder, shown.prompt(), speech=speech, watch=turn.watch, meter=self._parts.meter)
        failed: NoWords | None = None
        try:
            async with aclosing(words):
                async for piece in words:
                    yield telling.say(piece)
        except NoWords as error:
            failed = error
        if failed is None:
            yield await self._spoken(turn, profile, shown, speech, telling)
            return
        half = shown.half() if isinstance(failed, NoRoom) else None
        if half is not None:
            telling.look_at(half.frames)
            instead = self._speak(turn, decoder, half, telling)
        else:
            instead = self._measure_instead(turn, profile.name, shown.seen, telling)
        async with aclosing(instead):
            async for value in instead:
                yield value

    def _speech(self, turn: _Turn, profile: ModelProfile, shown: Shown) -> Speech:
        """Return what is asked of the decoder, with its place among other questions."""
        question = turn.heard.question
        most = self._max_tokens(question)
        tokens = estimated_tokens(
            frames=len(shown.stored), frame_tokens=profile.frame_tokens, answer_tokens=most
        )
        priority = live_priority(question.received_us, tokens=tokens)
        return Speech(question.id, most, turn.heard.language, self._settings, priority)

    async def _spoken(
        self, turn: _Turn, profile: ModelProfile, shown: Shown, speech: Speech, telling: Telling
    ) -> AnswerDone:
        """Return the end of an answer that the decoder gave."""
        model = profile.name
        if profile.own_world:
            turn.notice(own_world_text(model, turn.heard.language))
        turn.model, turn.outcome, turn.usage = model, speech.outcome, speech.usage
        turn.frames_used, turn.pictures_sent = shown.used(speech.refused), shown.pictures
        if shown.halved:
            turn.notice(halved_text(model, turn.heard.language))
        for text in (*speech.notices(model), *limits_of_sight(shown.seen, turn.frames_used)):
            turn.notice(text)
        return await self._done(turn, shown.seen, telling)

    async def _measure_instead(
        self, turn: _Turn, model: str, seen: Looks, telling: Telling
    ) -> AsyncGenerator[Answer, None]:
        """Go on with the measured answer where a model said nothing."""
        turn.notice(degraded_text(model, turn.heard.language))
        sentences, frames = measure(seen, self._parts.word_measured)
        turn.frames_used = len(frames)
        telling.look_at(turn.announced)
        async with aclosing(self._tell(turn, seen, telling, sentences, preface=False)) as values:
            async for value in values:
                yield value

    # ------------------------------------------------------------ pieces of a stream

    async def _tell(
        self, turn: _Turn, seen: Looks, telling: Telling, sentences: Sequence[str], *, preface: bool = True
    ) -> AsyncGenerator[Answer, None]:
        """Send sentences one by one, then the end."""
        spoken = (*(self._preface(turn) if preface else ()), *sentences)
        for number, sentence in enumerate(spoken):
            if number == 0:
                self._first_word(turn)
            yield telling.say(sentence if number == 0 else _between_sentences(turn.heard.language) + sentence)
        yield await self._done(turn, seen, telling)

    def _started(self, turn: _Turn, seen: Looks, frames: tuple[UsedFrame, ...]) -> AnswerStarted:
        heard = turn.heard
        zone = heard.camera.zone
        turn.announced = frames
        return AnswerStarted(
            id=heard.question.id,
            camera_id=heard.camera.id,
            conversation=heard.conversation,
            window=seen.span,
            window_text=window_text(seen.span, zone, now_us=heard.now_us),
            zone=zone.key,
            frames=frames,
            frames_in_span=seen.frames_in_span,
            coverage=seen.sights[0].seen.coverage,
            others=seen.others,
        )

    async def _done(self, turn: _Turn, seen: Looks, telling: Telling) -> AnswerDone:
        heard, told = turn.heard, telling.told()
        await self._remember(turn, seen, told.text)
        self._parts.meter.count(Metric.QUESTIONS, outcome=turn.outcome)
        encoded = self._parts.encoded_for(heard.question.id) - turn.encoded_before
        separator = _between_sentences(heard.language)
        return AnswerDone(
            id=heard.question.id,
            outcome=turn.outcome,
            citations=told.citations,
            usage=turn.usage,
            timings=turn.watch.done(),
            frames_used=turn.frames_used,
            frames_encoded_now=encoded + turn.pictures_sent,
            model=turn.model,
            notice=separator.join(turn.notices) or None,
            text=told.text,
        )

    async def _remember(self, turn: _Turn, seen: Looks, text: str) -> None:
        """Store the turn. An answer that cannot be stored is an answer all the same."""
        heard = turn.heard
        stored = StoredTurn(
            conversation=heard.conversation,
            cameras=tuple(camera.id for camera in heard.cameras),
            question=heard.text,
            answer=text,
            span=seen.span,
            model=turn.model,
            asked_us=heard.question.received_us,
        )
        try:
            await self._parts.conversations.append(stored)
        except ServiceError as error:
            _log.warning("a turn was not stored", extra={"code": error.code, "camera": heard.camera.id})

    def _preface(self, turn: _Turn) -> tuple[str, ...]:
        """Return what must be said before any answer: the time asked about does not exist, or came twice."""
        note = turn.heard.when.note
        if note is None or note.kind is NoteKind.ASSUMED:
            return ()
        return (note_text(note, turn.heard.camera.zone, turn.heard.language),)

    def _telling(self, turn: _Turn, seen: Looks, frames: Sequence[UsedFrame]) -> Telling:
        heard = turn.heard
        return Telling(heard.question.id, frames, heard.camera.zone, self._parts.meter, seen.zones)

    def _fetched(self, turn: _Turn) -> None:
        self._parts.meter.observe(Metric.FETCH_SECONDS, turn.watch.fetched())

    def _first_word(self, turn: _Turn) -> None:
        turn.watch.first_word()
        self._parts.meter.observe(Metric.FIRST_WORD_SECONDS, turn.watch.timings.first_word_ms / 1000)

    def _max_tokens(self, question: Question) -> int:
        if question.max_tokens is None:
            return self._settings.default_max_tokens
        return max(1, min(question.max_tokens, self._settings.max_tokens))


def _between_sentences(language: Language) -> str:
    return " " if language is Language.EN else ""
