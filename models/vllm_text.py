"""What people write stays text: special tokens in it are taken apart before a server tokenises it. Pure but for one read.

In this process text is tokenised by an encoder that knows no special tokens. A server renders the chat template to
one text first, and ``<|image_pad|>`` in a question would be taken for a picture, ``<|im_end|>`` for the end of a turn.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from models.errors import ModelNotLoadable

QWEN_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
"""What every Qwen-VL checkpoint has, for servers whose checkpoint is not on this machine."""

_FORMS = re.compile(r"<\|[^|<>\s]{1,40}\|>")

Disarm = Callable[[str], str]
"""Returns a text in which nothing is a special token; text without any comes back as it is."""


def special_tokens(folder: Path) -> tuple[str, ...]:
    """Return the added tokens of a checkpoint's tokenizer. Raises ModelNotLoadable."""
    try:
        described = json.loads((folder / "tokenizer.json").read_text())
        return tuple(str(token["content"]) for token in described["added_tokens"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelNotLoadable(folder.name, f"tokenizer.json cannot be read: {error}") from None


def disarming(tokens: Iterable[str] = QWEN_TOKENS) -> Disarm:
    """Return what takes these tokens, and whatever else is written like one, apart by a blank behind its first letter."""
    names = sorted({token for token in tokens if len(token) > 1}, key=len, reverse=True)
    found = re.compile("|".join([_FORMS.pattern, *map(re.escape, names)]))

    def disarm(text: str) -> str:
        return found.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)

    return disarm
