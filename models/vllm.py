"""A decoder in vLLM: frames go as refs, and vLLM fetches their features from Redis itself.

    Prompt ─▶ FrameLoader: by ref │ inline │ without some ─▶ messages ─▶ Exchange ─▶ Delta, Delta, ...
                                                              Probe ─▶ healthy, give_up

Where no checkpoint is named whose features vLLM could read, frames and pictures go as JPEG.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from core.clock import Clock
from core.ids import FrameRef, RequestId
from core.meter import Meter, Metric, NullMeter
from models.checkpoint import Checkpoint
from models.decoder import Delta, ModelProfile, Reads, SamplingParams
from models.health import Health
from models.openai_exchange import Exchange
from models.openai_wire import Dialect, Json, messages_of_dialogue, stream_body, without_picture
from models.prompt import Dialogue, Prompt
from models.vllm_frames import FrameLoader, FrameSource, Load
from models.vllm_probe import Probe, Pulse, Watch
from models.vllm_settings import VllmSettings
from models.vllm_text import Disarm, disarming, special_tokens
from models.vllm_wire import by_pixels, by_ref, by_value, disarmed, messages_of

logger = logging.getLogger(__name__)

_SOON_S = 0.1
"""Pause after a look that was slow, before the one that decides."""


class VllmDecoder:
    """Answers prompts through vLLM, or the router before several. Passes the decoders' contract.

    Use it from one event loop; ``start`` only looks, it never fails. ``watch`` runs beside it.
    """

    def __init__(
        self,
        settings: VllmSettings,
        *,
        clock: Clock,
        meter: Meter | None = None,
        checkpoint: Checkpoint | None = None,
        frames: FrameSource | None = None,
        jitter: random.Random | None = None,
    ) -> None:
        """
        Args:
            checkpoint: The model that vLLM serves; its tower encodes the frames in this process, or in another.
                None sends pictures.
            frames: Tells which frames vLLM finds; None takes all of them to be there.
        """
        self._settings = settings
        self._jitter = jitter or random.Random()
        self._clock = clock
        self._meter = meter or NullMeter()
        self._health = Health(failures=1, retry_after_us=settings.address.limits.retry_after_us)
        self._exchange = Exchange(settings.address, clock=clock, health=self._health, jitter=self._jitter)
        self._probe = Probe(settings)
        self._profile = replace(checkpoint.profile, reads=Reads.REFS) if checkpoint else None
        self._disarm: Disarm = disarming(special_tokens(checkpoint.folder)) if checkpoint else disarming()
        self._loader = (
            FrameLoader(frames, checkpoint, limits=settings.limits, clock=clock, meter=self._meter)
            if checkpoint
            else None
        )

    @property
    def profile(self) -> ModelProfile:
        limits = self._settings.address.limits
        if self._profile is None:
            return ModelProfile(self._exchange.model, Reads.JPEG, limits.frame_tokens, limits.window_tokens)
        context = self._exchange.card.get("max_model_len")
        if not isinstance(context, int):
            return self._profile
        room = max(self._profile.frame_tokens, context * 3 // 4)
        return replace(self._profile, window_tokens=min(self._profile.window_tokens, room))

    def healthy(self) -> bool:
        """Return whether the engine was alive at the last look and the last exchange; never waits."""
        return self._exchange.healthy()

    async def start(self) -> None:
        """Look whether vLLM is there, and which model it has."""
        await self._exchange.start()

    async def watch(self) -> None:
        """Look after the engine until cancelled: questions that wait for one that is gone fail at once."""
        watch = Watch()
        while True:
            pulse = watch.saw(await self._probe.look())
            self._note(pulse)
            every_s = self._settings.limits.probe_every_us / 1e6 * self._jitter.uniform(0.8, 1.2)
            await asyncio.sleep(_SOON_S if pulse is Pulse.SLOW else every_s)

    async def aclose(self) -> None:
        """Close the connections; streams under way fail. Idempotent."""
        await self._exchange.aclose()
        await self._probe.aclose()

    async def generate(
        self,
        prompt: Prompt | Dialogue,
        *,
        request_id: RequestId,
        sampling: SamplingParams,
        priority: int = 0,
    ) -> AsyncIterator[Delta]:
        """Stream the answer; closing the iterator early closes the connection, which aborts the request there.

        Frames that vLLM cannot read are left out and named in the usage. A dialogue's pictures go as JPEG.

        Raises:
            DecoderUnavailable: cannot be reached, gone, silent, or broke off; retryable.
            DecoderBusy: overloaded; retryable.
            DecoderRefused: vLLM refused the question.
            PromptTooLarge: the prompt is longer than the context that vLLM runs with.
            NoUsableFrames: the prompt has frames, and none can be read; or one of a dialogue cannot.
        """
        question = _Question(prompt, request_id, sampling, priority, self._loader, self._disarm)
        async with aclosing(self._exchange.deltas(question.ask, question.refused)) as deltas:
            async for delta in deltas:
                if delta.usage is not None:
                    found = delta.usage.cached_tokens
                    self._meter.count(Metric.PREFIX_TOKENS, found, hit="yes")
                    self._meter.count(Metric.PREFIX_TOKENS, delta.usage.prompt_tokens - found, hit="no")
                yield delta

    def _note(self, pulse: Pulse) -> None:
        was_well = self._exchange.healthy()
        match pulse:
            case Pulse.WELL:
                self._health.succeeded()
                if not was_well:
                    logger.info("vLLM answers again")
            case Pulse.GONE:
                self._health.failed(self._clock.mono_us())
                self._exchange.give_up()
                if was_well:
                    logger.warning("vLLM does not answer")
            case Pulse.SLOW:
                pass


@dataclass(slots=True)
class _Question:
    """One question on its way, made anew for every attempt."""

    prompt: Prompt | Dialogue
    request_id: RequestId
    sampling: SamplingParams
    priority: int
    loader: FrameLoader | None
    disarm: Disarm
    left_out: tuple[FrameRef, ...] = ()

    def refused(self) -> tuple[FrameRef, ...]:
        return self.left_out

    async def ask(self, model: str, dialect: Dialect, attempt: int) -> Json:
        """Return the body of one attempt. Raises NoUsableFrames, DecoderUnavailable."""
        body = stream_body(
            await self._messages(attempt), model=model, sampling=self.sampling, dialect=dialect
        )
        # A checkpoint's own defaults would make vLLM choose other tokens than the engine in this process.
        body |= {"top_p": self.sampling.top_p, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
        body["request_id"] = f"{self.request_id}-{attempt}"
        if self.priority and dialect.priority:
            body["priority"] = self.priority
        return body

    async def _messages(self, attempt: int) -> list[Json]:
        match self.prompt:
            case Dialogue():
                without_picture(self.prompt)
                return messages_of_dialogue(disarmed(self.prompt, self.disarm))
            case Prompt():
                return await self._messages_of(self.prompt, attempt)

    async def _messages_of(self, prompt: Prompt, attempt: int) -> list[Json]:
        if self.loader is None:
            self.left_out = without_picture(prompt)
            gone = set(self.left_out)
            seen = replace(
                prompt, parts=tuple(p for p in prompt.parts if getattr(p, "ref", None) not in gone)
            )
            return messages_of(seen, by_pixels, self.disarm)
        load = await self.loader.load(prompt, attempt=attempt)
        self.left_out = load.refused
        if load.inline is None:
            return messages_of(load.prompt, by_ref, self.disarm)
        return await asyncio.to_thread(self._inline_messages, load)

    def _inline_messages(self, load: Load) -> list[Json]:
        features = load.inline or {}
        return messages_of(load.prompt, lambda frame: by_value(frame, features[frame.ref]), self.disarm)
