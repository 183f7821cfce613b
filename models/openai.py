"""A decoder behind any OpenAI-compatible address: Ollama, llama.cpp, LM Studio, a cloud.

The chosen frames go as JPEG data URLs, each behind its label. ``openai_exchange`` connects, waits and tries again.
"""

import random
from collections.abc import AsyncIterator
from contextlib import aclosing

from core.clock import Clock
from core.ids import RequestId
from models.decoder import Delta, ModelProfile, Reads, SamplingParams
from models.health import Health
from models.openai_exchange import Exchange
from models.openai_settings import OpenAISettings
from models.openai_wire import Dialect, Json, request_body, without_picture
from models.prompt import Dialogue, Prompt


class OpenAIDecoder:
    """Answers prompts through a chat completions endpoint. Passes the decoders' contract.

    Use it from one event loop; ``start`` only looks, it never fails.
    """

    def __init__(
        self, settings: OpenAISettings, *, clock: Clock, jitter: random.Random | None = None
    ) -> None:
        self._settings = settings
        health = Health(failures=1, retry_after_us=settings.limits.retry_after_us)
        self._exchange = Exchange(settings, clock=clock, health=health, jitter=jitter)

    @property
    def profile(self) -> ModelProfile:
        limits = self._settings.limits
        return ModelProfile(self._exchange.model, Reads.JPEG, limits.frame_tokens, limits.window_tokens)

    def healthy(self) -> bool:
        """Return whether the last exchange worked, or lies so far back that another try is due."""
        return self._exchange.healthy()

    async def start(self) -> None:
        """Look whether the server is there and, where no model was named, which one it has."""
        await self._exchange.start()

    async def aclose(self) -> None:
        """Close the connections; streams under way fail. Idempotent."""
        await self._exchange.aclose()

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
            DecoderUnavailable: cannot be reached, silent, or broke off; retryable.
            DecoderBusy: overloaded; retryable.
            DecoderRefused: the server refused the question.
            PromptTooLarge: the server says so, with figures.
            NoUsableFrames: the prompt has frames, and none has a picture; or one of a dialogue has none.
        """
        refused = without_picture(prompt)

        async def ask(model: str, dialect: Dialect, _attempt: int) -> Json:
            return request_body(prompt, model=model, sampling=sampling, dialect=dialect)

        async with aclosing(self._exchange.deltas(ask, lambda: refused)) as deltas:
            async for delta in deltas:
                yield delta
