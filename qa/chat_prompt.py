"""What the model reads of a dialogue about pictures. Pure.

Most models read it as it was written. One that knows one world only has learnt questions about a camera and nothing
else, so its pictures become frames a second apart, and the last words the question.

    user: ▣ ▣ "how many?"   →   "You watch a camera ..." [12:00:00]▣ [12:00:01]▣ (It is now 12:00:02. ...) how many?
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

from core.ids import CameraId, FrameRef, make_frame_ref
from core.spans import Span
from models.chat import SYSTEM_TEXT
from models.decoder import ModelProfile
from models.prompt import Dialogue, Message, PicturePart, Role, TextPart, Turn
from qa.accept import clean_text
from qa.answers import Language
from qa.chat_settings import ChatSettings
from qa.chat_values import SentMessage, SentPicture
from qa.errors import DialogueTooLong, InvalidDialogue, PictureRequired, PictureTooLarge, TooManyPictures
from qa.prompt import Setting, bounds_text, fit_history, label_of

_FIRST_US = 43_200_000_000  # noon, so that every picture of a question lies on one day
_STEP_US = 1_000_000
_ZONE = ZoneInfo("UTC")
_HISTORY_TURNS, _HISTORY_CHARS = 4, 4_000


def check_messages(messages: Sequence[SentMessage], settings: ChatSettings) -> None:
    """Refuse messages that make no dialogue, or are too much.

    Raises:
        InvalidDialogue, DialogueTooLong, TooManyPictures, PictureTooLarge: why.
    """
    if not messages or messages[-1].role is not Role.USER:
        raise InvalidDialogue("the last message must be the user's")
    if not messages[-1].pictures and not messages[-1].text.strip():
        raise InvalidDialogue("the last message is empty")
    if any(message.pictures for message in messages if message.role is not Role.USER):
        raise InvalidDialogue("only the user's messages may have pictures")
    length = sum(len(message.text) for message in messages)
    if length > settings.max_text_chars:
        raise DialogueTooLong(length, settings.max_text_chars)
    pictures = [picture for message in messages for picture in message.pictures]
    if len(pictures) > settings.pictures:
        raise TooManyPictures(len(pictures), settings.pictures)
    if any(len(picture.data) > settings.picture_bytes for picture in pictures):
        raise PictureTooLarge.by_bytes(settings.picture_bytes)


def picture_ref(digest: str, profile: ModelProfile) -> FrameRef:
    """Return the name under which a model reads a picture.

    Args:
        digest: At least 48 hex digits of a hash of the file.
    """
    camera = CameraId(f"picture-{digest[:48]}")
    return make_frame_ref(
        camera, 0, encoder=profile.encoder_version or "jpeg", detail=str(profile.frame_tokens)
    )


def dialogue_of(messages: Sequence[SentMessage], pictures: Sequence[PicturePart]) -> Dialogue:
    """Return the messages as they were written, with the pictures that were made of those sent, in order."""
    made = iter(pictures)
    return Dialogue(tuple(Message(message.role, tuple(_parts(message, made))) for message in messages))


def camera_question(
    messages: Sequence[SentMessage], pictures: Sequence[PicturePart], *, model: str
) -> Dialogue:
    """Return the messages as a question about a camera: the same tokens as ``models.chat`` makes of a ``Prompt``.

    It is a dialogue all the same, so that decoders which look up a camera's frames do not look for these.

    Raises:
        PictureRequired: there is no picture.
        InvalidDialogue: the last message has no words.
    """
    if not pictures:
        raise PictureRequired(model)
    *earlier, last = messages
    turns, unanswered = _turns(earlier)
    question = clean_text(" ".join([*unanswered, _words(last)]))
    if not any(char.isalnum() or unicodedata.category(char) == "So" for char in question):
        raise InvalidDialogue("the last message has no words")
    end_us = _FIRST_US + len(pictures) * _STEP_US
    span = Span(_FIRST_US, end_us)
    shown: list[PicturePart | TextPart] = []
    for number, picture in enumerate(pictures):
        label = label_of(_FIRST_US + number * _STEP_US, span, _ZONE, tenths=False)
        shown += [TextPart(label), picture]
    shown.append(TextPart(f"\n{bounds_text(Setting(span, _ZONE, end_us))}\n\n"))
    read = [Message(Role.SYSTEM, (TextPart(SYSTEM_TEXT),))]
    for turn in fit_history(turns, max_turns=_HISTORY_TURNS, max_chars=_HISTORY_CHARS):
        read.append(Message(Role.USER, (*shown, TextPart(turn.question))))
        read.append(Message(Role.ASSISTANT, (TextPart(turn.answer),)))
        shown = []
    read.append(Message(Role.USER, (*shown, TextPart(question))))
    return Dialogue(tuple(read))


def label_notice(text: str, language: Language) -> str | None:
    """Return what the times in an answer about pictures mean, or None where it names none."""
    if re.search(r"\[12:00:\d\d\]", text) is None:
        return None
    if language is Language.EN:
        return "Times in brackets stand for the pictures: [12:00:00] is the first, [12:00:01] the second."
    return "方括号中的时间表示图片的次序：[12:00:00] 是第一张，[12:00:01] 是第二张。"


def _parts(message: SentMessage, made: Iterator[PicturePart]) -> Iterator[PicturePart | TextPart]:
    for part in message.parts:
        match part:
            case SentPicture():
                yield next(made)
            case TextPart():
                yield part


def _words(message: SentMessage) -> str:
    return " ".join(part.text for part in message.parts if isinstance(part, TextPart))


def _turns(messages: Sequence[SentMessage]) -> tuple[list[Turn], list[str]]:
    """Return what was asked and answered, and what the user has said since. What a system says is left out."""
    turns: list[Turn] = []
    said: list[str] = []
    for message in messages:
        match message.role:
            case Role.USER:
                said.append(_words(message))
            case Role.ASSISTANT:
                turns.append(Turn(clean_text(" ".join(said)), clean_text(_words(message))))
                said = []
            case Role.SYSTEM:
                pass
    return turns, said
