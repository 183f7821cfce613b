"""One chat completions address: connects, waits, tries again before the first token only, and reads the stream.

    ask(model, dialect, attempt) ──▶ body ──POST──▶ Text, Text, ... Ended, Counted, Closed ──▶ Delta, Delta, ...

What the wire looks like is ``openai_wire``'s business, what is asked that of the decoders that share this. Closing
the stream closes the connection, which aborts the request on the other side.
"""

import asyncio
import json
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2

from core.clock import Clock
from core.errors import ServiceError
from core.ids import FrameRef
from models.decoder import Delta, Finish, Usage
from models.errors import DecoderBusy, DecoderRefused, DecoderUnavailable, PromptTooLarge
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
    Json,
    Said,
    Text,
    adapt,
    error_of,
    message_of,
    whole_answer,
)

logger = logging.getLogger(__name__)

Ask = Callable[[str, Dialect, int], Awaitable[Json]]
"""Makes the body of one attempt: the model's name there, the server's dialect, the attempt's number from 1."""

_MAX_BODY_BYTES = 1 << 22
_BROKEN = (httpx2.HTTPError, httpx2.StreamError, RuntimeError)
"""What httpx2 raises where a connection cannot be had or breaks; RuntimeError where the client was closed."""


@dataclass(frozen=True, slots=True)
class _Patience:
    """How long to wait for the next piece.

    ``begun`` after the first word; ``over`` where the answer is whole and silence is no failure.
    """

    wait_s: float
    begun: bool = False
    over: bool = False


class _Again(Exception):
    """An attempt failed, and the next one may not; ``asked_us`` is how long the server asked to wait."""

    def __init__(self, failure: DecoderUnavailable | DecoderBusy, asked_us: int | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.asked_us = asked_us


class _Unasked(Exception):
    """What was to be asked could not be made; the other side is not to blame."""

    def __init__(self, error: ServiceError) -> None:
        super().__init__(str(error))
        self.error = error


class Exchange:
    """Asks one address. Use it from one event loop."""

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        clock: Clock,
        health: Health,
        jitter: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._clock = clock
        self._jitter = jitter or random.Random()
        self._base = settings.base
        self._model = settings.model
        self._card: Mapping[str, Any] = {}  # what the server lists of its model, in any shape
        self._dialect = Dialect()
        self._health = health
        self._waiting: set[asyncio.Timeout] = set()
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(None, connect=settings.limits.connect_timeout_us / 1e6),
            trust_env=not settings.is_loopback,  # a proxy set for the outside is of no use here
        )

    @property
    def model(self) -> str:
        """Return the model's name there; the host's until it is known."""
        return self._model or self._settings.host

    @property
    def card(self) -> Mapping[str, Any]:
        """Return what the server lists of its model; empty until it was asked, and where a name was given."""
        return self._card

    def healthy(self) -> bool:
        """Return whether the last exchange worked, or lies so far back that another try is due."""
        return self._health.healthy(self._clock.mono_us())

    async def start(self) -> None:
        """Look whether the server is there and, where no model was named, which one it has. Never fails."""
        try:
            await self.find_model()
        except (DecoderUnavailable, DecoderRefused) as error:
            logger.warning("the decoder's address does not answer yet", extra={"why": str(error)})

    async def aclose(self) -> None:
        """Close the connections; streams under way fail. Idempotent."""
        await self._client.aclose()

    def give_up(self) -> None:
        """Fail every question that waits for its first word now: the other side has gone."""
        now = asyncio.get_running_loop().time()
        for limit in tuple(self._waiting):
            if not limit.expired():
                limit.reschedule(now)

    async def deltas(self, ask: Ask, refused: Callable[[], tuple[FrameRef, ...]]) -> AsyncGenerator[Delta]:
        """Stream the answer to what ``ask`` makes; the last delta says why it ended.

        Args:
            refused: Frames that were left out, once the answer is there.
        Raises:
            DecoderUnavailable: cannot be reached, silent, or broke off; retryable.
            DecoderBusy: overloaded, after all attempts; retryable.
            DecoderRefused, PromptTooLarge: as the server says. Whatever ``ask`` raises.
        """
        finish: Finish | None = None
        usage: Usage | None = None
        async with aclosing(self._events(ask)) as events:
            async for event in events:
                match event:
                    case Text(text):
                        yield Delta(text)
                    case Ended(reason):
                        finish = reason
                    case Counted(counted):
                        usage = replace(counted, refused=refused())
                    case Closed():
                        pass
        self._health.succeeded()
        yield Delta("", finish or Finish.STOP, usage)

    async def _events(self, ask: Ask) -> AsyncGenerator[Said]:
        """Yield what the server says, from the first attempt that comes to its first word."""
        attempt, begun = 1, False
        while True:
            try:
                async with aclosing(self._attempt(ask, attempt)) as events:
                    async for event in events:
                        begun = begun or isinstance(event, Text)
                        yield event
                return
            except _Again as again:
                pause_us = self._pause_us(attempt, again.asked_us)
                if begun or attempt >= self._limits.attempts or pause_us is None:
                    raise self._note(again.failure) from None
            except _Unasked as unasked:
                raise unasked.error from None
            except (DecoderUnavailable, DecoderRefused, PromptTooLarge) as error:
                raise self._note(error) from None
            attempt += 1
            await asyncio.sleep(pause_us / 1e6)

    def _pause_us(self, attempt: int, asked_us: int | None) -> int | None:
        """Return how long to wait before the next attempt; None where the server asks for longer than anybody would."""
        if asked_us is None:
            return int(self._limits.retry_pause_us * 2 ** (attempt - 1) * self._jitter.uniform(0.5, 1.5))
        return asked_us if asked_us <= self._limits.idle_timeout_us // 6 else None

    async def _attempt(self, ask: Ask, attempt: int) -> AsyncGenerator[Said]:
        """Ask once; yield what the server says. Raises _Again, and errors that another attempt would meet as well."""
        async with AsyncExitStack() as closing:
            response = await self._connect(ask, attempt, closing)
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
                return _Patience(0.2, begun=True, over=True)
            case Ended():
                return _Patience(2.0, begun=True, over=True)  # for the usage
            case Text() if not before.over:
                return _Patience(self._limits.idle_timeout_us / 1e6, begun=True)
            case _:
                return before

    async def _next_piece(self, pieces: AsyncIterator[bytes], patience: _Patience) -> bytes | None:
        """Return the next bytes; None at the end, or where nothing follows the end of an answer soon."""
        try:
            async with self._timeout(patience.wait_s, given_up=not patience.begun):
                return await anext(pieces, None)
        except (TimeoutError, *_BROKEN) as error:
            if patience.over:
                return None
            if isinstance(error, TimeoutError):  # not tried again: whoever asked has waited long enough
                what = f"nothing came for {patience.wait_s:.0f} s" if patience.begun else None
                raise DecoderUnavailable(what or self._silence(patience.wait_s)) from None
            raise _Again(DecoderUnavailable("the answer broke off")) from None

    async def _connect(self, ask: Ask, attempt: int, closing: AsyncExitStack) -> httpx2.Response:
        """Return the head of an answer. Raises _Again, _Unasked, DecoderUnavailable, DecoderRefused, PromptTooLarge."""
        while True:
            try:
                model = await self.find_model()
                body = await _made(ask, model, self._dialect, attempt)
                response = await self._send(body, closing)
            except TimeoutError:  # not tried again, as above
                raise DecoderUnavailable(self._silence(self._limits.first_byte_timeout_us / 1e6)) from None
            except DecoderUnavailable as error:
                raise _Again(error) from None
            if response.status_code == 200:
                return response
            said = _parsed(await self._body(response))
            if adapted := adapt(self._dialect, response.status_code, message_of(said)):
                self._dialect = adapted  # asked in another way at once; at most once for each way
                continue
            failure = error_of(response.status_code, said)
            if isinstance(failure, DecoderUnavailable | DecoderBusy):
                raise _Again(failure, _retry_after_us(response))
            raise failure

    async def _send(self, body: Json, closing: AsyncExitStack) -> httpx2.Response:
        """Return the head of whatever comes back. Raises TimeoutError, DecoderUnavailable."""
        try:
            async with self._timeout(self._limits.first_byte_timeout_us / 1e6, given_up=True):
                request = self._client.stream("POST", f"{self._base}/chat/completions", json=body)
                return await closing.enter_async_context(request)
        except _BROKEN as error:
            raise DecoderUnavailable(self._reason(error)) from None

    @asynccontextmanager
    async def _timeout(self, seconds: float, *, given_up: bool) -> AsyncIterator[None]:
        """Bound the block in time; ``given_up`` lets ``give_up`` end it at once."""
        async with asyncio.timeout(seconds) as limit:
            if given_up:
                self._waiting.add(limit)
            try:
                yield
            finally:
                self._waiting.discard(limit)

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

    async def find_model(self) -> str:
        """Return the model to ask, listed by the server where none was named.

        Raises DecoderUnavailable, DecoderRefused.
        """
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
        self._card = models[0]
        self._model = str(models[0]["id"])
        return self._model

    def _reason(self, error: Exception) -> str:
        where = urlsplit(self._base).netloc
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return f"cannot connect to {where}"
        return f"the connection to {where} failed ({type(error).__name__})"

    def _silence(self, waited_s: float) -> str:
        return f"no answer within {waited_s:.0f} s" if self.healthy() else "it stopped answering"

    def _note(self, error: Failure) -> Failure:
        """Remember failures that the next question would meet as well; return the error."""
        lasting = isinstance(error, DecoderUnavailable) or (
            isinstance(error, DecoderRefused) and error.status in (401, 403, 404)
        )
        if lasting:
            self._health.failed(self._clock.mono_us())
        if isinstance(error, DecoderRefused) and error.status == 404:
            self._model = self._settings.model  # it may have come back with another one
        return error


async def _made(ask: Ask, model: str, dialect: Dialect, attempt: int) -> Json:
    try:
        return await ask(model, dialect, attempt)
    except ServiceError as error:
        raise _Unasked(error) from None


def _said(event: Event) -> Said:
    """Return what an event says, or raise the failure that it reports."""
    match event:
        case Failed(DecoderUnavailable() | DecoderBusy() as error):
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
