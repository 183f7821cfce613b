"""Questions at the edge: what REST and the WebSocket share, and the REST route, a stream of server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import cast

from fastapi import FastAPI
from starlette.responses import Response

from core.errors import ServiceError
from core.ids import CameraId
from qa.answers import Answer, AnswerStarted, Question
from web import wire
from web.accept import parse_question
from web.access import Action, Principal, may
from web.cameras import Caller
from web.errors import Forbidden, TooManyQuestions
from web.ports import Ports
from web.present import answer_message, error_message
from web.routes import API
from web.settings import WebSettings
from web.streams import Places, Stopping, StreamReply


def accept_question(form: wire.AskForm, principal: Principal, ports: Ports) -> Question:
    """Return a question that ``principal`` may ask, under a new request id.

    Raises:
        Forbidden: about a camera that they may not ask about.
        ServiceError: UnknownCamera from the registry, or what ``parse_question`` refuses.
    """
    question = parse_question(form, ports.ids.request(), received_us=ports.clock.now_us())
    for camera_id in question.cameras:
        _check(principal, camera_id)
        ports.registry.get(camera_id)
    return question


async def answers(question: Question, principal: Principal, ports: Ports) -> AsyncGenerator[Answer]:
    """Yield one answer's values. Closing it aborts the request.

    Which cameras are meant may only turn out inside (a conversation goes on with its cameras), so that the
    right to ask about them is checked again on the first value.
    """
    # The port promises an iterator; aclosing needs the generator that every asker is.
    values = cast(AsyncGenerator[Answer], ports.asker.ask(question))
    async with aclosing(values):
        async for value in values:
            if isinstance(value, AnswerStarted):
                for camera_id in (value.camera_id, *(other.camera_id for other in value.others)):
                    _check(principal, camera_id)
            yield value


def _check(principal: Principal, camera_id: CameraId) -> None:
    if not may(principal, Action.ASK, camera_id):
        raise Forbidden(f"{Action.ASK} about this camera")


def sse(message: wire.ServerMessage) -> bytes:
    """Return a message as one server-sent event, named by its type. JSON has no line breaks of its own."""
    return f"event: {message.type}\nid: {message.seq}\ndata: {wire.to_json(message)}\n\n".encode()


class AskRoute:
    """``POST /ask``."""

    def __init__(self, ports: Ports, settings: WebSettings, stopping: Stopping) -> None:
        self._ports = ports
        self._settings = settings
        self._stopping = stopping
        self._places = Places(settings.max_asks, TooManyQuestions)

    def add_to(self, app: FastAPI) -> None:
        """Put the route into ``app``."""
        add = partial(app.add_api_route, tags=["Questions"])
        add(
            f"{API}/ask",
            self.ask,
            methods=["POST"],
            response_class=Response,
            responses={
                200: {
                    "content": {"text/event-stream": {}},
                    "description": "answer.started, answer.delta …, answer.done; or error",
                }
            },
        )

    async def ask(self, form: wire.AskForm, caller: Caller) -> Response:
        """Answer a question as server-sent events, named like the WebSocket's messages."""
        question = accept_question(form, caller, self._ports)
        events = _Events(question, caller, self._ports)
        return StreamReply(
            events.stream(),
            media_type="text/event-stream",
            stopping=self._stopping,
            stall_timeout_s=self._settings.stall_timeout_s,
            places=self._places,
            last_words=events.last_words,
        )


class _Events:
    """One answer as server-sent events, numbered from 1."""

    def __init__(self, question: Question, caller: Principal, ports: Ports) -> None:
        self._question = question
        self._caller = caller
        self._ports = ports
        self._seq = 0

    async def stream(self) -> AsyncGenerator[bytes]:
        async with aclosing(answers(self._question, self._caller, self._ports)) as values:
            async for value in values:
                yield self._numbered(answer_message(value, self._question.id))

    def last_words(self, error: ServiceError) -> bytes:
        """Return the event that says why the answer broke off."""
        return self._numbered(error_message(error, self._question.id))

    def _numbered(self, message: wire.ServerMessage) -> bytes:
        self._seq += 1
        return sse(message.model_copy(update={"seq": self._seq}))
