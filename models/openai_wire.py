"""What goes over the wire to an OpenAI-compatible server, and what comes back. Pure.

Lenient on the way in, because Ollama, llama.cpp, LM Studio, vLLM and clouds differ: keep-alive comments, ``data:``
with or without a space, no usage, usage beside the last choice, no ``[DONE]``, errors in mid-stream, and characters
whose two JSON escapes arrive in two events.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.ids import FrameRef
from models.decoder import Finish, SamplingParams, Usage
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, NoUsableFrames, PromptTooLarge
from models.prompt import Dialogue, FramePart, Message, PicturePart, Prompt, Role, TextPart

Json = dict[str, Any]
Failure = DecoderBusy | DecoderRefused | DecoderUnavailable | PromptTooLarge

MAX_EVENT_BYTES = 1 << 20
_CONTEXT = re.compile(r"maximum (?:context|model) length (?:is|of) (\d{2,9})", re.IGNORECASE)
RETRYABLE = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server turned out not to understand."""

    stream_options: bool = True
    max_completion_tokens: bool = False
    priority: bool = True


@dataclass(frozen=True, slots=True)
class Text:
    """Some more of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The server said why the answer ended."""

    finish: Finish


@dataclass(frozen=True, slots=True)
class Counted:
    """The server said how many tokens it took."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Failed:
    """The server reported an error in mid-stream."""

    error: Failure


@dataclass(frozen=True, slots=True)
class Closed:
    """``[DONE]``: nothing follows."""


Said = Text | Ended | Counted | Closed
Event = Said | Failed


def without_picture(prompt: Prompt | Dialogue) -> tuple[FrameRef, ...]:
    """Return the frames that have no picture and are left out.

    Raises NoUsableFrames where that is all of them, or one of a dialogue: who sent a picture asks about that picture.
    """
    frames = prompt.frames
    refused = tuple(frame.ref for frame in frames if not frame.jpeg)
    if refused and (len(refused) == len(frames) or isinstance(prompt, Dialogue)):
        raise NoUsableFrames(len(refused), "they were stored without pictures")
    return refused


def request_body(
    prompt: Prompt | Dialogue, *, model: str, sampling: SamplingParams, dialect: Dialect
) -> Json:
    """Return the body of a streamed chat request. Frames and pictures without a JPEG are left out."""
    match prompt:
        case Prompt():
            messages = _messages_of_question(prompt)
        case Dialogue():
            messages = messages_of_dialogue(prompt)
    return stream_body(messages, model=model, sampling=sampling, dialect=dialect)


def stream_body(messages: list[Json], *, model: str, sampling: SamplingParams, dialect: Dialect) -> Json:
    """Return the body of a streamed chat request with these messages."""
    limit = "max_completion_tokens" if dialect.max_completion_tokens else "max_tokens"
    body: Json = {"model": model, "messages": messages, "stream": True, limit: sampling.max_tokens}
    body["temperature"] = sampling.temperature
    if sampling.top_p < 1:
        body["top_p"] = sampling.top_p
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    return body


def messages_of_dialogue(dialogue: Dialogue) -> list[Json]:
    """Return a dialogue's messages; pictures without a JPEG are left out."""
    return [_message(message) for message in dialogue.messages]


def _messages_of_question(prompt: Prompt) -> list[Json]:
    """Return system, frames each behind its label, history, question last."""
    first: list[Json] = []
    for part in prompt.parts:
        match part:
            case FramePart(label=label, jpeg=jpeg) if jpeg:
                first += [{"type": "text", "text": label}, _picture(jpeg)]
            case TextPart(text=text):
                first.append({"type": "text", "text": text})
            case _:
                pass  # a frame without a picture is left out with its label
    messages: list[Json] = [{"role": "system", "content": prompt.system}]
    for turn in prompt.history:
        messages.append({"role": "user", "content": [*first, {"type": "text", "text": turn.question}]})
        messages.append({"role": "assistant", "content": turn.answer})
        first = []
    messages.append({"role": "user", "content": [*first, {"type": "text", "text": prompt.question}]})
    return messages


def _message(message: Message) -> Json:
    """Return one message; only the user's may be a list of parts everywhere, so the others' are one text."""
    if message.role is not Role.USER or all(isinstance(part, TextPart) for part in message.parts):
        return {"role": str(message.role), "content": message.text}
    content: list[Json] = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                content.append({"type": "text", "text": text})
            case PicturePart(jpeg=jpeg) if jpeg:
                content.append(_picture(jpeg))
            case _:
                pass
    return {"role": str(message.role), "content": content}


def _picture(jpeg: bytes) -> Json:
    url = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def adapt(dialect: Dialect, status: int, message: str) -> Dialect | None:
    """Return how to ask again after a refusal that names a field, or None where that is not the trouble."""
    if status not in (400, 422):
        return None
    if dialect.stream_options and "stream_options" in message:
        return replace(dialect, stream_options=False)
    if not dialect.max_completion_tokens and "max_completion_tokens" in message:
        return replace(dialect, max_completion_tokens=True)
    if dialect.priority and "priority" in message.lower():
        return replace(dialect, priority=False)
    return None


class EventReader:
    """Takes the bytes of a server-sent event stream as they come, in any pieces, and yields what they say."""

    def __init__(self) -> None:
        self._rest = b""
        self._half = ""  # the first of two UTF-16 halves whose second one has not come

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete. Raises DecoderUnavailable for an event without end."""
        self._rest += data
        # Lines are cut as bytes: a newline byte is never part of another character, which is all of UTF-8 that
        # matters here; str.splitlines would also cut at U+2028 inside a text.
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            raise DecoderUnavailable("it sent an event without end")
        for line in lines:
            field, _, value = line.partition(b":")
            if field == b"data":
                yield from self._event(value.strip())

    def _event(self, data: bytes) -> Iterator[Event]:
        if data == b"[DONE]":
            yield Closed()
            return
        try:
            chunk = json.loads(data)
        except ValueError:
            raise DecoderUnavailable("it sent an event that is no JSON") from None
        if isinstance(chunk, dict):
            yield from self._chunk(chunk)

    def _chunk(self, chunk: Json) -> Iterator[Event]:
        if error := chunk.get("error"):
            yield Failed(error_of(_status_of(error), error))
            return
        for choice in chunk.get("choices") or ():
            said = choice.get("delta") or choice.get("message") or {}
            if text := self._whole(said.get("content")):
                yield Text(text)
            if reason := choice.get("finish_reason"):
                yield Ended(Finish.LENGTH if reason == "length" else Finish.STOP)
        if usage := _usage(chunk.get("usage")):
            yield Counted(usage)

    def _whole(self, content: object) -> str:
        """Return text without half characters; the first half of one waits for the second."""
        if not isinstance(content, str) or not content:
            return ""
        text = self._half + content
        self._half = ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
        return joined.replace("\ufffd", "")  # a character that the server itself has cut


def whole_answer(body: bytes) -> list[Event]:
    """Return the events of an answer that came in one piece though a stream was asked for."""
    reader = EventReader()
    return list(reader.feed(b"data: " + b" ".join(body.splitlines()) + b"\n"))


def error_of(status: int, error: object) -> Failure:
    """Return our error for a server's; ``error`` is its body's ``error``, an object or a text."""
    message = message_of(error)
    if (too_large := _too_large(error, message)) is not None:
        return too_large
    if status == 429:
        return DecoderBusy(why=message)
    if status in RETRYABLE:
        return DecoderUnavailable(f"{status}, {message}")
    return DecoderRefused(status, message)


def message_of(error: object) -> str:
    """Return a server's own words, shortened to one printable line."""
    if isinstance(error, Mapping):
        nested = error.get("error")
        error = (
            message_of(nested) if nested else error.get("message") or error.get("detail") or "no reason given"
        )
    line = " ".join(str(error).split())
    return "".join(c for c in line if c.isprintable())[:200] or "no reason given"


def _status_of(error: object) -> int:
    """Return the status that an error in mid-stream would have had, where it says so, else that of a bad gateway."""
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502


def _too_large(error: object, message: str) -> PromptTooLarge | None:
    facts = error if isinstance(error, Mapping) else {}
    inner = facts.get("error")
    facts = inner if isinstance(inner, Mapping) else facts
    if isinstance(facts.get("n_prompt_tokens"), int) and isinstance(facts.get("n_ctx"), int):
        return PromptTooLarge(facts["n_prompt_tokens"], facts["n_ctx"])
    if found := _CONTEXT.search(message):
        limit = int(found[1])
        others = [int(number) for number in re.findall(r"\b\d{3,9}\b", message)]
        return PromptTooLarge(max([limit + 1, *others]), limit)
    if facts.get("code") != "context_length_exceeded" and "context length" not in message.lower():
        return None
    numbers = [int(number) for number in re.findall(r"\b(\d{3,9})\b", message)]
    return PromptTooLarge(max(numbers), min(numbers)) if len(numbers) >= 2 else None


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, Mapping) or not isinstance(usage.get("prompt_tokens"), int):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Usage(usage["prompt_tokens"], int(usage.get("completion_tokens") or 0), int(cached or 0))
