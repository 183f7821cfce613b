"""The decoder's part of an answer: its words as they come, and how its stream ended."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.errors import ServiceError
from core.ids import FrameRef, RequestId
from core.meter import Meter, Metric
from models.decoder import Decoder, Delta, Finish, SamplingParams
from models.errors import PromptTooLarge
from models.prompt import Prompt
from qa.answers import AnswerUsage, Language, Outcome
from qa.settings import AskSettings
from qa.telling import Stopwatch
from qa.wording import cut_text, limit_text

_log = logging.getLogger(__name__)

CLOSE_LIMIT_S = 2.0
"""How long an aborted request may take to end in the decoder."""


class NoWords(Exception):
    """The decoder failed, or ended, before its first word."""


class NoRoom(NoWords):
    """The prompt is larger than the decoder holds; a smaller one may do."""


@dataclass(slots=True)
class Speech:
    """What is asked of a decoder for one answer, and what came of it. ``refused`` frames it could not read.

    The lower ``priority``, the earlier the decoder takes it.
    """

    request: RequestId
    max_tokens: int
    language: Language
    settings: AskSettings
    priority: int = 0
    usage: AnswerUsage = field(default_factory=AnswerUsage)
    refused: tuple[FrameRef, ...] = ()
    finish: Finish | None = None
    failed: bool = False

    @property
    def outcome(self) -> Outcome:
        return Outcome.SHORTENED if self.failed or self.finish is Finish.LENGTH else Outcome.OK

    def notices(self, model: str) -> tuple[str, ...]:
        """Return what to tell about the way the stream ended."""
        if self.failed:
            return (cut_text(model, self.language),)
        return (limit_text(self.max_tokens, self.language),) if self.finish is Finish.LENGTH else ()


async def speak(
    decoder: Decoder, prompt: Prompt, *, speech: Speech, watch: Stopwatch, meter: Meter
) -> AsyncGenerator[str, None]:
    """Yield the decoder's words as they come; ``speech`` then knows how it ended.

    A failure after the first word ends the stream; before it, NoWords is raised, NoRoom where the prompt is too
    large. Closing the iterator early aborts the request in the decoder.
    """
    sampling = SamplingParams(max_tokens=speech.max_tokens)
    limits = speech.settings
    begun = False
    try:
        words = decoder.generate(
            prompt, request_id=speech.request, sampling=sampling, priority=speech.priority
        )
        async with closing(words) as deltas:
            while True:
                limit_s = limits.stall_limit_s if begun else limits.first_word_limit_s
                delta = await next_delta(deltas, limit_s)
                if delta is None:
                    break
                if delta.usage is not None:
                    speech.usage = AnswerUsage(delta.usage.prompt_tokens, delta.usage.completion_tokens)
                    speech.refused = delta.usage.refused
                speech.finish = delta.finish or speech.finish
                if not delta.text:
                    continue
                if begun:
                    meter.observe(Metric.INTER_TOKEN_SECONDS, watch.next_word())
                else:
                    watch.first_word()
                    meter.observe(Metric.FIRST_WORD_SECONDS, watch.timings.first_word_ms / 1000)
                begun = True
                yield delta.text
    except (ServiceError, TimeoutError) as error:
        code = error.code if isinstance(error, ServiceError) else "timeout"
        _log.warning("the decoder failed", extra={"code": code, "begun": begun, "request": speech.request})
        if isinstance(error, PromptTooLarge) and not begun:
            raise NoRoom from error
        speech.failed = True
    if not begun:
        raise NoWords


async def next_delta(deltas: AsyncIterator[Delta], limit_s: float) -> Delta | None:
    """Return the next piece, or None at the end. Raises TimeoutError after so long."""
    async with asyncio.timeout(limit_s):
        return await anext(deltas, None)


@asynccontextmanager
async def closing(stream: AsyncIterator[Delta]) -> AsyncIterator[AsyncIterator[Delta]]:
    """Close the stream on leaving, whatever the reason; that aborts the request."""
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            try:
                async with asyncio.timeout(CLOSE_LIMIT_S):
                    await stream.aclose()
            except TimeoutError:
                _log.warning("the decoder did not end an aborted request in time")
