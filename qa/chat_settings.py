"""Settings of still-image chat."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Limits of dialogues about pictures that clients send.

    Attributes:
        pictures: Pictures one request may have, earlier messages included.
        picture_bytes: Largest picture file.
        picture_pixels: Most pixels of one picture, told by its header before anything is decoded.
        max_text_chars: Characters of all messages of one request together.
        default_max_tokens: Tokens of an answer where the request sets no limit.
        max_tokens: Most tokens a request may ask for; more is cut to this.
        kept_bytes: Memory for the features of pictures seen lately, so that a dialogue's next message, which brings
            them again, encodes nothing.
        first_word_limit_s: A model silent for so long before its first word is taken for away.
        stall_limit_s: A model silent for so long in the middle of its answer is taken for failed.
    """

    pictures: int = 8
    picture_bytes: int = 10 << 20
    picture_pixels: int = 40_000_000
    max_text_chars: int = 100_000
    default_max_tokens: int = 512
    max_tokens: int = 4_096
    kept_bytes: int = 64 << 20
    first_word_limit_s: float = 60.0
    stall_limit_s: float = 20.0

    def __post_init__(self) -> None:
        for limit in fields(self):
            value, least = getattr(self, limit.name), 0 if limit.name == "kept_bytes" else 1
            if limit.name.endswith("_s"):
                if value <= 0:
                    raise ValueError(f"{limit.name} must be above 0, got {value}")
            elif value < least:
                raise ValueError(f"{limit.name} must be at least {least}, got {value}")
