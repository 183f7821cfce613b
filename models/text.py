"""Between text and tokens: encoding that knows no special tokens, decoding that never cuts a character."""

import codecs
import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Protocol

from models.chat import ChatTokens
from models.checkpoint import Checkpoint
from models.errors import ModelNotLoadable


class Tokens(Protocol):
    """What is used of ``tokenizers.Tokenizer``."""

    def to_str(self) -> str: ...
    def token_to_id(self, token: str) -> int | None: ...
    def id_to_token(self, id: int) -> str | None: ...
    def encode(self, sequence: str, *, add_special_tokens: bool = True) -> Any: ...
    def get_added_tokens_decoder(self) -> Mapping[int, Any]: ...


class PlainTextEncoder:
    """A tokenizer with every added token taken out, so that ``<|im_end|>`` in a question stays nine characters.

    Taking them out is safer than a flag: Qwen's tokenizer also has added tokens that are not marked special.
    Labels and standing texts repeat with every question, so their ids are remembered.
    """

    REMEMBERED = 4_096

    def __init__(self, tokens: Tokens, parse: Callable[[str], Tokens]) -> None:
        """``parse`` is ``tokenizers.Tokenizer.from_str``."""
        described = json.loads(tokens.to_str())
        described["added_tokens"] = []
        described["post_processor"] = None
        plain = parse(json.dumps(described))

        @lru_cache(maxsize=self.REMEMBERED)
        def remembered(text: str) -> tuple[int, ...]:
            return tuple(plain.encode(text, add_special_tokens=False).ids)

        self._plain = plain
        self._remembered = remembered

    def encode(self, text: str) -> tuple[int, ...]:
        if len(text) <= 512:
            return self._remembered(text)
        return tuple(self._plain.encode(text, add_special_tokens=False).ids)


def chat_tokens(tokens: Tokens) -> ChatTokens:
    """Return the family's special tokens. Raises KeyError with the name of one that is missing."""

    def of(name: str) -> int:
        found = tokens.token_to_id(name)
        if found is None:
            raise KeyError(name)
        return found

    return ChatTokens(
        im_start=of("<|im_start|>"),
        im_end=of("<|im_end|>"),
        vision_start=of("<|vision_start|>"),
        vision_end=of("<|vision_end|>"),
        image_pad=of("<|image_pad|>"),
    )


class ChatText:
    """Everything about a checkpoint's text: encoder, special tokens, the bytes of tokens, and what ends an answer."""

    def __init__(
        self, tokens: Tokens, parse: Callable[[str], Tokens], *, end_tokens: Iterable[int] = ()
    ) -> None:
        self.encoder = PlainTextEncoder(tokens, parse)
        self.tokens = chat_tokens(tokens)
        self.ends = frozenset({self.tokens.im_end, *end_tokens})
        self._bytes_of = TokenBytes(tokens)

    @classmethod
    def load(cls, checkpoint: Checkpoint) -> "ChatText":
        """Read a checkpoint's tokenizer; takes up to a second. Raises ModelNotLoadable."""
        path = checkpoint.folder / "tokenizer.json"
        if not path.exists():
            raise ModelNotLoadable(checkpoint.name, "tokenizer.json is missing")
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise ModelNotLoadable(checkpoint.name, "the extra 'encoder' is not installed") from None
        try:
            return cls(Tokenizer.from_file(str(path)), Tokenizer.from_str, end_tokens=checkpoint.end_tokens)
        except KeyError as error:
            raise ModelNotLoadable(checkpoint.name, f"its tokenizer has no {error.args[0]}") from None
        except Exception as error:  # noqa: BLE001 - tokenizers raises bare Exception
            raise ModelNotLoadable(checkpoint.name, f"tokenizer.json cannot be read: {error}") from None

    def stream(self) -> "TextStream":
        """Return what turns one answer's tokens into text."""
        return TextStream(self._bytes_of)


class TokenBytes:
    """The bytes that each token of a byte-level vocabulary stands for; special tokens stand for none."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._added = {
            id: b"" if added.special else added.content.encode()
            for id, added in tokens.get_added_tokens_decoder().items()
        }
        self._byte_of = _byte_level_alphabet()

    def __call__(self, token_id: int) -> bytes:
        if token_id in self._added:
            return self._added[token_id]
        text = self._tokens.id_to_token(token_id)
        return b"" if text is None else bytes(self._byte_of[c] for c in text if c in self._byte_of)


class TextStream:
    """Turns token after token into text; a character comes out when its last byte is there.

    Bytes that can never become a character are left out, and so is a character that the end cuts short.
    """

    def __init__(self, bytes_of: Callable[[int], bytes]) -> None:
        self._bytes_of = bytes_of
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")

    def push(self, token_id: int) -> str:
        """Return the text that this token completes; may be empty."""
        return self._decoder.decode(self._bytes_of(token_id))


def _byte_level_alphabet() -> dict[str, int]:
    """Return the byte behind each character of a byte-level vocabulary.

    Source: the GPT-2 vocabulary; printable Latin-1 bytes stand for themselves, the others for U+0100 and up in order.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (byte for byte in range(256) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}
