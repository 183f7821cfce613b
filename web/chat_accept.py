"""From a chat completion's request to a question as ``qa`` takes it. Pure; what cannot be meant is refused by name.

With large pictures it takes some 50 ms, so call it outside the event loop; it lets other threads go on meanwhile.
"""

import binascii
import re
from collections.abc import Iterator

from core.ids import RequestId
from models.prompt import Role, TextPart
from qa.chat_values import ChatQuestion, SentMessage, SentPicture
from web import chat_wire
from web.errors import InvalidPictureUrl, PictureUrlNotAllowed, UnsupportedParameter

_DATA_URL = re.compile(
    r"data:[\w!#$&^.+/-]{0,128}(?:;[\w-]{1,64}=[^;,]{0,128}){0,4};base64,", re.ASCII | re.IGNORECASE
)

_PIECE_CHARS = 1 << 20  # a multiple of four; 3 ms


def parse_chat(form: chat_wire.ChatForm, request_id: RequestId) -> ChatQuestion:
    """Return what a form asks.

    Raises:
        UnsupportedParameter: it asks for something that is not served.
        PictureUrlNotAllowed, InvalidPictureUrl: a picture is no data URL, or a broken one.
    """
    _refuse_unsupported(form)
    limit = form.max_tokens if form.max_completion_tokens is None else form.max_completion_tokens
    return ChatQuestion(
        id=request_id,
        model=form.model,
        messages=tuple(_message(message) for message in form.messages),
        max_tokens=limit,
        temperature=form.temperature or 0.0,
        top_p=1.0 if form.top_p is None else form.top_p,
        seed=form.seed,
        stop=tuple(form.stop or ()),
    )


def parse_picture(url: str) -> SentPicture:
    """Return the file in a data URL; nothing is ever fetched. What type the URL names does not matter.

    Raises:
        PictureUrlNotAllowed, InvalidPictureUrl: why there is none.
    """
    if url[:5].lower() != "data:":
        raise PictureUrlNotAllowed
    head = _DATA_URL.match(url)
    if head is None:
        raise InvalidPictureUrl("it must begin with data:image/…;base64,")
    text, start = url, head.end()
    if any(space in url for space in "\n\r\t "):  # folded; RFC 2397's base64 is that of RFC 2045
        text, start = "".join(url[start:].split()), 0
    try:
        data = b"".join(_decoded(text, start))
    except ValueError:
        raise InvalidPictureUrl("what follows the comma is not base64") from None
    if not data:
        raise InvalidPictureUrl("it is empty")
    return SentPicture(data)


def _decoded(text: str, start: int) -> Iterator[bytes]:
    """Yield what base64 stands for, piece by piece: decoding keeps all other threads waiting. Raises ValueError."""
    for at in range(start, len(text), _PIECE_CHARS):
        piece = text[at : at + _PIECE_CHARS]
        decoded = binascii.a2b_base64(piece, strict_mode=True)
        if at + _PIECE_CHARS < len(text) and len(decoded) * 4 != len(piece) * 3:
            raise ValueError("it ends before its end")
        yield decoded


def _refuse_unsupported(form: chat_wire.ChatForm) -> None:
    wanted = {
        "n": form.n not in (None, 1),
        "tools": bool(form.tools),
        "functions": bool(form.functions),
        "response_format": (form.response_format or {}).get("type", "text") != "text",
        "logprobs": bool(form.logprobs),
        "modalities": any(kind != "text" for kind in form.modalities or ()),
        "audio": form.audio is not None,
    }
    for name, asked in wanted.items():
        if asked:
            raise UnsupportedParameter(name)


def _message(form: chat_wire.MessageForm) -> SentMessage:
    role = Role.SYSTEM if form.role == "developer" else Role(form.role)
    return SentMessage(role, tuple(_part(part) for part in form.content))


def _part(form: chat_wire.TextForm | chat_wire.ImageForm) -> TextPart | SentPicture:
    match form:
        case chat_wire.TextForm():
            return TextPart(form.text)
        case chat_wire.ImageForm():
            return parse_picture(form.image_url.url)
