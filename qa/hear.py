"""What a question means: which cameras, which span, after which earlier turns. Reads cameras and conversations."""

from dataclasses import dataclass, replace

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
        camera: The one it is about, or the first of several; its zone is the one that words about time are in.
        others: The cameras after the first.
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
    others: tuple[Camera, ...] = ()

    @property
    def cameras(self) -> tuple[Camera, ...]:
        return (self.camera, *self.others)

    def about(self, camera: Camera) -> "Heard":
        """Return the same question about one of its cameras alone."""
        return replace(self, camera=camera, others=())


async def hear(question: Question, parts: AskParts, settings: AskSettings) -> Heard:
    """Return what a question means.

    An explicit window beats the words; without either, a follow-up is about the last turn's span.

    Raises:
        EmptyQuestion, QuestionTooLong, AskedAtInFuture, InvalidWindow, SeveralCameras, CameraRequired.
        UnknownConversation, UnknownCamera: as the store and the registry say.
    """
    text = accept_text(question, settings)
    now_us = now_of(question)
    if (named := len(set(question.cameras))) > settings.max_cameras:
        raise SeveralCameras(named, settings.max_cameras)
    turns: tuple[StoredTurn, ...] = ()
    if question.conversation is not None:
        turns = await parts.conversations.last(question.conversation, count=max(1, settings.history_turns))
    camera, *others = _cameras(question, turns, parts)
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
    return Heard(question, text, language, now_us, camera, conversation, span, when, history, tuple(others))


def _cameras(question: Question, turns: tuple[StoredTurn, ...], parts: AskParts) -> tuple[Camera, ...]:
    """Return the cameras named, in order, else those of the last turn, else the only one there is."""
    named = question.cameras or (turns[-1].cameras if turns else ())
    if named:
        return tuple(parts.cameras.get(camera_id) for camera_id in dict.fromkeys(named))
    registered = parts.cameras.list()
    if len(registered) != 1:
        raise CameraRequired(len(registered))
    return registered
