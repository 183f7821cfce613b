"""From what travels to livelens' own values. Pure; what cannot be meant is refused by name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from core.cameras import Source, Transport
from core.errors import ServiceError
from core.ids import ConversationId, RequestId, parse_camera_id
from core.spans import Span
from qa.answers import LastWindow, Question
from qa.errors import InvalidWindow
from web import rest, wire
from web.errors import InvalidMessage, MalformedMessage, UnknownMessage, UnknownZone
from web.ports import SourceParser
from web.present import shown_url
from web.times import BadTime, from_rfc3339

_MAX_LAST_S = 366 * 86400


def parse_zone(name: str) -> ZoneInfo:
    """Return a time zone by name. Raises UnknownZone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UnknownZone(name) from None


def parse_question(form: wire.AskForm, request_id: RequestId, *, received_us: int) -> Question:
    """Return a question as ``qa`` takes it, which judges what its text and times mean.

    Raises:
        InvalidCameraId, InvalidWindow: what its fields say cannot be.
    """
    return Question(
        id=request_id,
        text=form.text,
        received_us=received_us,
        cameras=tuple(parse_camera_id(name) for name in dict.fromkeys(form.cameras)),
        window=_window(form.window),
        asked_at_us=form.asked_at,
        conversation=None if form.conversation is None else ConversationId(form.conversation),
        max_tokens=form.max_tokens,
    )


def _window(window: wire.LastSeconds | wire.FromTo | None) -> LastWindow | Span | None:
    match window:
        case None:
            return None
        case wire.LastSeconds():
            return LastWindow(max(1, round(window.last_s * 1e6)))
        case wire.FromTo():
            return _span(window.from_, window.to)
        case _:
            assert_never(window)


def _span(start_us: int, end_us: int) -> Span:
    if start_us >= end_us:
        raise InvalidWindow("it must end after it starts")
    return Span(start_us, end_us)


def parse_span(
    start: str | None, end: str | None, last_s: float | None, *, now_us: int, default_s: float | None = None
) -> Span:
    """Return the span that a query names: ``from`` and ``to``, or ``last_s`` up to and with ``now_us``.

    ``from`` alone reaches to now. Raises InvalidWindow.
    """
    if start is None and end is None:
        seconds = default_s if last_s is None else last_s
        if seconds is None:
            raise InvalidWindow("name it by from and to, or by last_s")
        if not 0 < seconds <= _MAX_LAST_S:
            raise InvalidWindow(f"last_s must be above 0 and at most {_MAX_LAST_S}")
        return Span(max(0, now_us - round(seconds * 1e6)), now_us + 1)
    if last_s is not None or start is None:
        raise InvalidWindow("name it either by from and to, or by last_s")
    try:
        return _span(from_rfc3339(start), now_us + 1 if end is None else from_rfc3339(end))
    except BadTime as error:
        raise InvalidWindow(f"each of from and to {error}") from None


def parse_source_form(form: rest.SourceForm, parse: SourceParser, *, current: Source | None = None) -> Source:
    """Return the source that a form names, by the parser of the package that will read it.

    ``current`` is the source to be replaced: its address may be sent back as it was shown, and its password
    is kept where none is sent and login name and host stay the same, so that it never goes to another host.
    """
    url = form.url
    if current is not None and url == shown_url(current.url):
        url = current.url
    source = parse(
        url,
        username=form.username,
        password=form.password,
        transport=Transport(form.transport),
        loop=form.loop,
    )
    return source if current is None else _with_kept_password(source, form, current)


def _with_kept_password(source: Source, form: rest.SourceForm, current: Source) -> Source:
    kept, new = current.credentials, source.credentials
    if kept is None or form.password is not None or (new is not None and new.password):
        return source
    same_login = form.username in (None, kept.username) and (new is None or new.username == kept.username)
    same_host = urlsplit(source.url)[:2] == urlsplit(current.url)[:2]
    return replace(source, credentials=kept) if same_login and same_host else source


def read_message(text: str) -> wire.ClientMessage:
    """Return one message of a client.

    Raises:
        MalformedMessage, UnknownMessage, InvalidMessage: by name, what is wrong with it.
    """
    try:
        return wire.CLIENT_MESSAGES.validate_json(text)
    except ValidationError as error:
        raise _message_error(error) from None


def _message_error(error: ValidationError) -> ServiceError:
    details = error.errors(include_url=False, include_input=False, include_context=False)
    match details[0]["type"]:
        case "json_invalid" | "model_type" | "dict_type" | "model_attributes_type" | "union_tag_not_found":
            return MalformedMessage()
        case "union_tag_invalid":
            return UnknownMessage(wire.CLIENT_TYPES)
    # The first element of each place is the union's tag, which says nothing more.
    return InvalidMessage("; ".join(f"{field}: {why}" for field, why in faults(details, skip=1)[:3]))


def question_id_of(text: str) -> str | None:
    """Return the id inside a message that was refused, so that the refusal can carry it."""
    try:
        value = from_json(text)
    except ValueError:
        return None
    named = value.get("id") if isinstance(value, dict) else None
    return named if isinstance(named, str) and 0 < len(named) <= 64 and named.isprintable() else None


def faults(details: Iterable[ErrorDetails], *, skip: int = 0) -> tuple[tuple[str, str], ...]:
    """Return field and reason of each fault; never the value, which may be a password."""
    return tuple(
        (".".join(str(part) for part in detail["loc"][skip:]), detail["msg"].removeprefix("Value error, "))
        for detail in details
    )
