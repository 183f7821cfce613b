"""Routes under ``/v1``: chat about still pictures for every client of OpenAI's, and the list of models."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any, cast

from fastapi import FastAPI
from starlette.responses import Response

from qa.chat_values import ChatDone, ChatPiece, ChatQuestion, ChatValue
from qa.errors import ModelNotFound, NoChatModel
from web import chat_wire
from web.chat_accept import parse_chat
from web.chat_present import DONE, Telling, error_event, model_list_view, model_view
from web.errors import TooManyQuestions
from web.ports import Ports
from web.replies import json_reply
from web.routes import OPENAI
from web.settings import WebSettings
from web.streams import Places, Stopping, StreamReply


class ChatRoutes:
    """``/v1/chat/completions`` and ``/v1/models``."""

    def __init__(self, ports: Ports, settings: WebSettings, stopping: Stopping) -> None:
        self._ports = ports
        self._settings = settings
        self._stopping = stopping
        self._places = Places(settings.max_chats, TooManyQuestions)

    def add_to(self, app: FastAPI) -> None:
        """Put the routes into ``app``."""
        errors: dict[int | str, dict[str, Any]] = {
            "default": {"model": chat_wire.ErrorView, "description": "Why not"}
        }
        add = partial(app.add_api_route, tags=["OpenAI-compatible"])
        add(
            f"{OPENAI}/chat/completions",
            self.complete,
            methods=["POST"],
            response_model=chat_wire.CompletionView,
            responses={
                **errors,
                200: {
                    "content": {"text/event-stream": {}},
                    "description": "The answer, or with stream its chunks as server-sent events",
                },
            },
        )
        add(
            f"{OPENAI}/models",
            self.list_models,
            methods=["GET"],
            response_model=chat_wire.ModelListView,
            responses=errors,
        )
        add(
            f"{OPENAI}/models/{{model:path}}",
            self.show_model,
            methods=["GET"],
            response_model=chat_wire.ModelView,
            responses=errors,
        )

    async def complete(self, form: chat_wire.ChatForm) -> Response:
        """Answer a dialogue about pictures, in one piece or streamed."""
        question = await asyncio.to_thread(parse_chat, form, self._ports.ids.request())
        telling = Telling(question.id, question.model, now_us=self._ports.clock.now_us())
        if form.stream:
            with_usage = form.stream_options is not None and form.stream_options.include_usage
            chunks = _streamed(self._values(question), telling, with_usage=with_usage)
        else:
            chunks = _whole(self._values(question), telling)
        reply = StreamReply(
            chunks,
            media_type="text/event-stream" if form.stream else "application/json",
            stopping=self._stopping,
            stall_timeout_s=self._settings.stall_timeout_s,
            places=self._places,
            last_words=error_event,
        )
        reply.headers["X-Request-Id"] = question.id
        return reply

    async def list_models(self) -> Response:
        """List who answers here: one model, or none where livelens was started without."""
        return json_reply(model_list_view(self._ports.chat.models()))

    async def show_model(self, model: str) -> Response:
        """Show one model."""
        models = {found.name: found for found in self._ports.chat.models()}
        if not models:
            raise NoChatModel
        if model not in models:
            raise ModelNotFound(model, next(iter(models)))
        return json_reply(model_view(models[model]))

    def _values(self, question: ChatQuestion) -> AsyncGenerator[ChatValue]:
        # The port promises an iterator; aclosing needs the generator that every chat is.
        return cast(AsyncGenerator[ChatValue], self._ports.chat.chat(question))


async def _whole(values: AsyncGenerator[ChatValue], telling: Telling) -> AsyncGenerator[bytes]:
    """Yield the answer in one piece, once it is whole."""
    pieces: list[str] = []
    async with aclosing(values):
        async for value in values:
            match value:
                case ChatPiece(text):
                    pieces.append(text)
                case ChatDone():
                    yield telling.completion("".join(pieces), value)


async def _streamed(
    values: AsyncGenerator[ChatValue], telling: Telling, *, with_usage: bool
) -> AsyncGenerator[bytes]:
    """Yield the answer as events. Nothing comes before its first value, so that an error until then has its status."""
    begun = False
    async with aclosing(values):
        async for value in values:
            if not begun:
                begun = True
                yield telling.begun()
            match value:
                case ChatPiece(text):
                    yield telling.piece(text)
                case ChatDone():
                    yield telling.ended(value)
                    if with_usage:
                        yield telling.counted(value.usage)
                    yield DONE
