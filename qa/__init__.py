"""Ask: from a question in words to an answer with evidence.

Finds the camera and the span a question means, chooses frames from the window, hands them to the decoder, checks
the times that the answer names, and says what was and was not seen. Where no model is named or it is away, the
answer is worded from measurements alone. It leaves encoding, storing and speaking to others: ``featcache`` keeps
the frames, ``models`` the decoder, ``store`` the conversations, ``web`` the wire.

    Question ("who came between 2 and 3 pm?")
      -> span [14:00, 15:00) Europe/Berlin -> 41 of 600 frames, coverage
      -> AnswerStarted(frames, coverage), AnswerDelta("A van came at [14:12:07]."), ...
      -> AnswerDone(outcome ok, citations, timings, frames_encoded_now 0)

Beside it, chat about still pictures that people send: ChatQuestion -> ChatPiece("A van."), ..., ChatDone(usage).
"""

from qa.ask import Asker
from qa.chat import Chat
from qa.chat_ports import ChatParts
from qa.chat_settings import ChatSettings
from qa.measured import word_answer
from qa.ports import (
    AskParts,
    Cameras,
    Conversations,
    DecoderSource,
    EncodedFor,
    Evidence,
    Measured,
    WordMeasured,
)
from qa.settings import AskSettings
from qa.when import When, read_when, warm_up

__all__ = [
    "AskParts",
    "AskSettings",
    "Asker",
    "Cameras",
    "Chat",
    "ChatParts",
    "ChatSettings",
    "Conversations",
    "DecoderSource",
    "EncodedFor",
    "Evidence",
    "Measured",
    "When",
    "WordMeasured",
    "read_when",
    "warm_up",
    "word_answer",
]
