"""A decoder behind any OpenAI-compatible address: Ollama, llama.cpp, LM Studio, vLLM, a cloud.

The chosen frames go as JPEG data URLs, each behind its label. What the wire looks like is ``openai_wire``'s business;
this module connects, waits, retries before the first token only, and aborts the request when its reader leaves.
"""

import asyncio
import json
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import httpx2

from core.clock import Clock
from core.ids import RequestId
from models.decoder import Delta, Finish, ModelProfile, Reads, SamplingParams, Usage
from models.errors import DecoderRefused, DecoderUnavailable, NoUsableFrames, PromptTooLarge
from models.health import Health
from models.openai_settings import OpenAISettings
from models.openai_wire import (
    Closed,
    Counted,
    Dialect,
    Ended,
    Event,
    EventReader,
    Failed,
    Failure,
    Said,
    Text,
    adapt,
    error_of,
    message_of,
    readable_frames,
    request_body,
    whole_answer,
)
from models.prompt import Dialogue, Prompt

logger = logging.getLogger(__name__)

_MAX_BODY_BYTES = 1 << 22
_BROKEN = (httpx2.HTTPError, httpx2.StreamError, RuntimeError)
"""What httpx2 raises where a connection cannot be had or breaks; RuntimeError where the client was closed."""


@dataclass(frozen=True, slots=True)
class _Patience:
    """How long to wait for the next piece; ``over`` where the answer is whole and silence is no failure."""

    wait_s: float
    over: bool = False


class _Again(Exception):
    """An attempt failed, and the next one may not; ``asked_us`` is how long the server asked to wait."""

    def __init__(self, failure: DecoderUnavailable, asked_us: int | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.asked_us = asked_us


class OpenAIDecoder:
    """Answers prompts through a chat completions endpoint. Passes the decoders' contract.

    Use it from one event loop; ``start`` only looks, it never fails.
    """

    def __init__(
        self, settings: OpenAISettings, *, clock: Clock, jitter: random.Random | None = None
    ) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._clock = clock
        self._jitter = jitter or random.Random()
        self._base = settings.base
        self._model = settings.model
        self._dialect = Dialect()
        self._health = Health(failures=1, retry_after_us=settings.limits.retry_after_us)
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=settings.limits.connect_timeout_us / 1e6),
            trust_env=not settings.is_loopback,  # a proxy set for the outside is of no use here
        )

    @property
    def profile(self) -> ModelProfile:
        name, limits = self._model or self._settings.host, self._limits
        return ModelProfile(name, Reads.JPEG, limits.frame_tokens, limits.window_tokens)

    def healthy(self) -> bool:
        """Return whether the last exchange worked, or lies so far back that another try is due."""
        return self._health.healthy(self._clock.mono_us())

    async def start(self) -> None:
        """Look whether the server is there and, where no model was named, which one it has."""
        try:
            await self._find_model()
        except (DecoderUnavailable, DecoderRefused) as error:
            logger.warning("the decoder's address does not answer yet", extra={"why": str(error)})

    async def aclose(self) -> None:
        """Close the connections; streams under way fail. Idempotent."""
        await self._client.aclose()

    async def generate(
        self,
        prompt: Prompt | Dialogue,
        *,
        request_id: RequestId,  # noqa: ARG002 - the protocol's; a connection is its own handle here
        sampling: SamplingParams,
        priority: int = 0,  # noqa: ARG002 - OpenAI's form has no word for it
    ) -> AsyncIterator[Delta]:
        """Stream the answer; closing the iterator early closes the connection, which aborts the request there.

        Raises:
            DecoderUnavailable: cannot be reached, overloaded, silent, or broke off; retryable.
            DecoderRefused: the server refused the question.
            PromptTooLarge: the server says so, with figures.
            NoUsableFrames: the prompt has frames, and none has a picture; or one of a dialogue has none.
        """
        frames, refused = readable_frames(prompt)
        if refused and (not frames or isinstance(prompt, Dialogue)):
            raise NoUsableFrames(len(refused), "they were stored without pictures")
        finish: Finish | None = None
        usage: Usage | None = None
        async with aclosing(self._events(prompt, sampling)) as events:
            async for event in events:
                match event:
                    case Text(text):
                        yield Delta(text)
                    case Ended(reason):
                        finish = reason
                    case Counted(counted):
                        usage = replace(counted, refused=refused)
                    case Closed():
                        pass
        self._health.succeeded()
        yield Delta("", finish or Finish.STOP, usage)

    async def _events(self, prompt: Prompt | Dialogue, sampling: SamplingParams) -> AsyncGenerator[Said]:
        """Yield what the server says, from the first attempt that comes to its first word."""
        attempt, begun = 1, False
        while True:
            try:
                async with aclosing(self._attempt(prompt, sampling)) as events:
                    async for event in events:
                        begun = begun or isinstance(event, Text)
                        yield event
                return
            except _Again as again:
                pause_us = self._pause_us(attempt, again.asked_us)
                if begun or attempt >= self._limits.attempts or pause_us is None:
                    raise self._note(again.failure) from None
            except (DecoderUnavailable, DecoderRefused, PromptTooLarge) as error:
                raise self._note(error) from None
            attempt += 1
            await asyncio.sleep(pause_us / 1e6)

    def _pause_us(self, attempt: int, asked_us: int | None) -> int | None:
        """Return how long to wait before the next attempt; None where the server asks for longer than anybody would."""
        if asked_us is None:
            return int(self._limits.retry_pause_us * 2 ** (attempt - 1) * self._jitter.uniform(0.5, 1.5))
        return asked_us if asked_us <= self._limits.idle_timeout_us // 6 else None

    async def _attempt(self, prompt: Prompt | Dialogue, sampling: SamplingParams) -> AsyncGenerator[Said]:
        """Ask once; yield what the server says. Raises _Again, and errors that another attempt would meet as well."""
        async with AsyncExitStack() as closing:
            response = await self._connect(prompt, sampling, closing)
            if "json" in response.headers.get("content-type", ""):
                for event in whole_answer(await self._body(response)):
                    yield _said(event)
                return
            reader, silent = EventReader(), True
            pieces = await closing.enter_async_context(aclosing(_bytes_of(response)))
            patience = _Patience(self._limits.first_byte_timeout_us / 1e6)
            while (piece := await self._next_piece(pieces, patience)) is not None:
                for event in reader.feed(piece):
                    silent = False
                    patience = self._patience_after(event, patience)
                    yield _said(event)
            if silent:
                raise _Again(DecoderUnavailable("the answer ended before it began"))

    def _patience_after(self, event: Event, before: _Patience) -> _Patience:
        match event:
            case Closed():
                # For the end of the body, so that the connection can be used again.
                return _Patience(0.2, over=True)
            case Ended():
                return _Patience(2.0, over=True)  # for the usage
            case Text() if not before.over:
                return _Patience(self._limits.idle_timeout_us / 1e6)
            case _:
                return before

    async def _next_piece(self, pieces: AsyncIterator[bytes], patience: _Patience) -> bytes | None:
        """Return the next bytes; None at the end, or where nothing follows the end of an answer soon."""
        try:
            async with asyncio.timeout(patience.wait_s):
                return await anext(pieces, None)
        except (TimeoutError, *_BROKEN) as error:
            if patience.over:
                return None
            if isinstance(error, TimeoutError):  # not tried again: whoever asked has waited long enough
                raise DecoderUnavailable(f"nothing came for {patience.wait_s:.0f} s") from None
            raise _Again(DecoderUnavailable("the answer broke off")) from None

    async def _connect(
        self, prompt: Prompt | Dialogue, sampling: SamplingParams, closing: AsyncExitStack
    ) -> httpx2.Response:
        """Return the head of an answer. Raises _Again, DecoderUnavailable, DecoderRefused, PromptTooLarge."""
        while True:
            try:
                model = await self._find_model()
                body = request_body(prompt, model=model, sampling=sampling, dialect=self._dialect)
                response = await self._send(body, closing)
            except TimeoutError:  # not tried again, as above
                wait_s = self._limits.first_byte_timeout_us // 1_000_000
                raise DecoderUnavailable(f"no answer within {wait_s} s") from None
            except DecoderUnavailable as error:
                raise _Again(error) from None
            if response.status_code == 200:
                return response
            said = _parsed(await self._body(response))
            if adapted := adapt(self._dialect, response.status_code, message_of(said)):
                self._dialect = adapted  # asked in another way at once; at most once for each way
                continue
            failure = error_of(response.status_code, said)
            if isinstance(failure, DecoderUnavailable):
                raise _Again(failure, _retry_after_us(response))
            raise failure

    async def _send(self, body: dict[str, object], closing: AsyncExitStack) -> httpx2.Response:
        """Return the head of whatever comes back. Raises TimeoutError, DecoderUnavailable."""
        try:
            async with asyncio.timeout(self._limits.first_byte_timeout_us / 1e6):
                request = self._client.stream("POST", f"{self._base}/chat/completions", json=body)
                return await closing.enter_async_context(request)
        except _BROKEN as error:
            raise DecoderUnavailable(self._reason(error)) from None

    async def _body(self, response: httpx2.Response) -> bytes:
        """Return a body that is not a stream, bounded in size and time, without our key should it be quoted."""
        body = b""
        try:
            async with (
                asyncio.timeout(self._limits.idle_timeout_us / 1e6),
                aclosing(_bytes_of(response)) as pieces,
            ):
                async for piece in pieces:
                    body += piece
                    if len(body) > _MAX_BODY_BYTES:
                        break
        except (TimeoutError, *_BROKEN):
            pass  # what has come says enough, or nothing does
        return self._hide_key(body)

    def _hide_key(self, body: bytes) -> bytes:
        key = self._settings.api_key
        return body.replace(key.encode(), b"***") if key else body

    async def _find_model(self) -> str:
        """Return the model to ask, listed by the server where none was named."""
        if self._model is not None:
            return self._model
        try:
            async with asyncio.timeout(self._limits.connect_timeout_us / 1e6):
                response = await self._client.get(f"{self._base}/models")
        except TimeoutError:
            raise DecoderUnavailable("it does not list its models in time") from None
        except _BROKEN as error:
            raise DecoderUnavailable(self._reason(error)) from None
        listed = _parsed(self._hide_key(response.content))
        if response.status_code not in (200, 404):
            failure = error_of(response.status_code, listed)
            raise failure if isinstance(failure, DecoderRefused) else DecoderUnavailable(message_of(listed))
        models = listed.get("data") if isinstance(listed, dict) else None
        if not isinstance(models, list) or not models:
            raise DecoderRefused(response.status_code, "it lists no model; name one")
        self._model = str(models[0]["id"])
        return self._model

    def _reason(self, error: Exception) -> str:
        where = urlsplit(self._base).netloc
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return f"cannot connect to {where}"
        return f"the connection to {where} failed ({type(error).__name__})"

    def _note(self, error: Failure) -> Failure:
        """Remember failures that the next question would meet as well; return the error."""
        lasting = isinstance(error, DecoderUnavailable) or (
            isinstance(error, DecoderRefused) and error.status in (401, 403, 404)
        )
        if lasting:
            self._health.failed(self._clock.mono_us())
        return error


def _said(event: Event) -> Said:
    """Return what an event says, or raise the failure that it reports."""
    match event:
        case Failed(DecoderUnavailable() as error):
            raise _Again(error)
        case Failed(error):
            raise error
        case _:
            return event


async def _bytes_of(response: httpx2.Response) -> AsyncGenerator[bytes]:
    async for piece in response.aiter_bytes():
        yield piece


def _parsed(body: bytes) -> object:
    """Return a body as JSON, or as text where it is none."""
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _retry_after_us(response: httpx2.Response) -> int | None:
    """Return how long the server asks to wait, where it says so in seconds."""
    said = response.headers.get("retry-after", "")
    return int(said) * 1_000_000 if said.isdecimal() and len(said) <= 6 else None
