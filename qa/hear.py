"""What a question means: which camera, which span, after which earlier turns. Reads cameras and conversations."""

from dataclasses import dataclass

from core.cameras import Camera
from core.ids import ConversationId
from core.spans import Span
from models.prompt import Turn
from qa.accept import accept_text, explicit_span, now_of
from qa.answers import Language, Question
from qa.errors import CameraRequired, SeveralCameras
from qa.follow import follow_span
from qa.language import language_of
from qa.ports import AskParts
from qa.prompt import fit_history
from qa.settings import AskSettings
from qa.when import When, read_when
from store.conversations import StoredTurn


@dataclass(frozen=True, slots=True)
class Heard:
    """A question understood.

    Attributes:
        text: The question's words, cleaned.
        span: What it is about; None where it names no span and inherits none.
        when: What its words say about time; empty where an explicit window or an earlier turn decided.
        history: Earlier turns for the model, oldest first.
    """

    question: Question
    text: str
    language: Language
    now_us: int
    camera: Camera
    conversation: ConversationId
    span: Span | None
    when: When
    history: tuple[Turn, ...]


async def hear(question: Question, parts: AskParts, settings: AskSettings) -> Heard:
    """Return what a question means.

    An explicit window beats the words; without either, a follow-up is about the last turn's span.

    Raises:
        EmptyQuestion, QuestionTooLong, AskedAtInFuture, InvalidWindow, SeveralCameras, CameraRequired.
        UnknownConversation, UnknownCamera: as the store and the registry say.
    """
    text = accept_text(question, settings)
    now_us = now_of(question)
    if len(set(question.cameras)) > 1:
        raise SeveralCameras(len(set(question.cameras)))
    turns: tuple[StoredTurn, ...] = ()
    if question.conversation is not None:
        turns = await parts.conversations.last(question.conversation, count=max(1, settings.history_turns))
    camera = _camera(question, turns, parts)
    language = language_of(text)
    when = When()
    if question.window is not None:
        span: Span | None = explicit_span(question.window, now_us=now_us)
    else:
        when = read_when(text, language=language, now_us=now_us, zone=camera.zone)
        span = when.span
        if span is None and turns and turns[-1].span is not None:
            span = follow_span(text, turns[-1].span, now_us=now_us)
    history = fit_history(
        [Turn(turn.question, turn.answer) for turn in turns],
        max_turns=settings.history_turns,
        max_chars=settings.history_chars,
    )
    conversation = question.conversation or parts.ids.conversation()
    return Heard(question, text, language, now_us, camera, conversation, span, when, history)


def _camera(question: Question, turns: tuple[StoredTurn, ...], parts: AskParts) -> Camera:
    if question.cameras:
        return parts.cameras.get(question.cameras[0])
    if turns and turns[-1].cameras:
        return parts.cameras.get(turns[-1].cameras[0])
    registered = parts.cameras.list()
    if len(registered) != 1:
        raise CameraRequired(len(registered))
    return registered[0]
