"""Settings of asking."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskSettings:
    """Limits of questions and answers.

    Attributes:
        max_text_chars: Longest question read, in characters.
        default_max_tokens: Tokens of an answer where the question sets no limit.
        max_tokens: Most tokens a question may ask for; more is cut to this.
        history_turns: Earlier turns of a conversation that the model reads.
        history_chars: Characters of earlier turns that the model reads; the oldest turns go first.
        max_cameras: Most cameras that one question is about; they share the model's budget of frames.
        first_word_limit_s: A model silent for so long before its first word is taken for away.
        stall_limit_s: A model silent for so long in the middle of its answer is taken for failed.
    """

    max_text_chars: int = 4_000
    default_max_tokens: int = 256
    max_tokens: int = 2_048
    history_turns: int = 4
    history_chars: int = 4_000
    max_cameras: int = 8
    first_word_limit_s: float = 20.0
    stall_limit_s: float = 20.0

    def __post_init__(self) -> None:
        if min(self.max_text_chars, self.default_max_tokens, self.max_tokens, self.max_cameras) < 1:
            raise ValueError("max_text_chars, default_max_tokens, max_tokens and max_cameras are at least 1")
        if min(self.history_turns, self.history_chars) < 0:
            raise ValueError("history_turns and history_chars are at least 0")
        if min(self.first_word_limit_s, self.stall_limit_s) <= 0:
            raise ValueError("first_word_limit_s and stall_limit_s are above 0")
