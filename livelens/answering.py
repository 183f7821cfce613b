"""Who answers: the model of the settings, opened once, or nobody, which means measured answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from core.clock import Clock
from core.frames import Features, Picture
from core.meter import Meter
from featcache.window import WindowReader
from livelens.decoder_frames import DecoderFrames
from livelens.decoder_prompt import PromptProbe, PromptWatch, checkpoint_of
from livelens.errors import WrongSetting
from livelens.settings import Settings
from models import (
    BUILTIN,
    BuiltinModel,
    Decoder,
    Engine,
    FrameSource,
    LocalModel,
    ModelChoice,
    NoModel,
    OpenAISettings,
    RemoteModel,
    VllmDecoder,
    VllmModel,
    VllmSettings,
    open_decoder,
    open_tower,
)
from qa.ports import MEASURED

KnowsPicture = Callable[[Picture], bool]
"""Tells whether a picture is of the model's world. Takes milliseconds; called in the picture pool."""


@dataclass(frozen=True, slots=True)
class EngineEncoder:
    """The engine as ``featcache.fill.Encoder``. ``knows`` None means that it knows every picture."""

    engine: Engine
    version: str
    frame_detail: str
    executor: Executor
    knows: KnowsPicture | None = None

    async def encode(self, picture: Picture) -> Features | None:
        """Return the picture's features, None where it is not of the model's world.

        Raises DecoderUnavailable, BadFeatures.
        """
        if self.knows is not None:
            loop = asyncio.get_running_loop()
            if not await loop.run_in_executor(self.executor, self.knows, picture):
                return None
        return await self.engine.encode(picture)


@dataclass(frozen=True, slots=True)
class Answering:
    """The decoder of this process, and the encoder that feeds the window for it; None where there is none.

    ``knows`` tells pictures of the model's world from others; None where it takes all. ``prompt`` compares how a vLLM
    that reads frames by their ids renders a question.
    """

    decoder: Decoder | None = None
    encoder: EngineEncoder | None = None
    knows: KnowsPicture | None = None
    prompt: PromptWatch | None = None

    def answered_by(self, *, encoded: bool) -> str:
        """Return the name that answers about a camera carry.

        Args:
            encoded: The camera's newest frame has features, or it has no frame yet.
        """
        if self.decoder is None:
            return MEASURED
        profile = self.decoder.profile
        return MEASURED if profile.own_world and not encoded else profile.name

    def healthy(self) -> bool:
        """Return whether the model, if one is named, has a fair chance of answering."""
        return self.decoder is None or self.decoder.healthy()

    async def look_after(self) -> None:
        """Watch a decoder that runs elsewhere, until cancelled; return at once where there is none."""
        if not isinstance(self.decoder, VllmDecoder):
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self.decoder.watch(), name="decoder:watch")
            if self.prompt is not None:
                group.create_task(self.prompt.run(), name="decoder:prompt")

    def details(self) -> dict[str, str]:
        """Return what an operator should know of who answers, in words; empty where nothing is wrong."""
        return {} if self.prompt is None else self.prompt.details()


def choose_model(settings: Settings) -> ModelChoice:
    """Return the choice that the settings make: an address wins over a local model, which then only encodes for vLLM.

    Raises WrongSetting for addresses that cannot be used together, or not as they are.
    """
    if settings.model_url and settings.decoder_url:
        raise WrongSetting("decoder_url: not beside model_url; name one of them")
    if settings.model_url:
        return RemoteModel(_address(settings, settings.model_url))
    local = _local_model(settings)
    if not settings.decoder_url:
        return local or NoModel()
    if local is not None and not settings.redis.url:
        raise WrongSetting(
            "redis.url is empty: the decoder reads frames from Redis; give it, or send pictures (model = 'none')"
        )
    return VllmModel(VllmSettings(_address(settings, settings.decoder_url), settings.decoder), local)


def _address(settings: Settings, url: str) -> OpenAISettings:
    return OpenAISettings(
        url,
        model=settings.model_name or None,
        api_key=settings.model_key.get_secret_value() or None,
        limits=settings.remote,
    )


def _local_model(settings: Settings) -> BuiltinModel | LocalModel | None:
    if settings.model == "none":
        return None
    if settings.model == BUILTIN:
        return BuiltinModel(settings.engine)
    return LocalModel(
        settings.model,
        frame_tokens=settings.frame_tokens or None,
        window_tokens=settings.window_tokens or None,
        settings=settings.engine,
    )


@asynccontextmanager
async def answering(
    settings: Settings,
    *,
    executor: Executor,
    clock: Clock,
    meter: Meter,
    knows: KnowsPicture | None = None,
    window: WindowReader | None = None,
) -> AsyncIterator[Answering]:
    """Open the model for the length of the block.

    Args:
        executor: The picture pool; it stays the caller's.
        knows: Tells the built-in model's pictures from others; by default the model's own check.
        window: This process's own frames, for a decoder that reads Redis while Redis is away; None where it has none.
    Raises:
        ModelNotLoadable: the model cannot be loaded.
        WrongSetting: as ``choose_model``.
    """
    choice = choose_model(settings)
    async with AsyncExitStack() as stack:
        frames = await stack.enter_async_context(_frames(choice, settings, window, meter))
        decoder = await asyncio.to_thread(
            open_decoder, choice, executor=executor, clock=clock, meter=meter, frames=frames
        )
        if decoder is None:
            yield Answering()
            return
        stack.push_async_callback(decoder.aclose)
        await decoder.start()
        engine = decoder if isinstance(decoder, Engine) else None
        if isinstance(choice, VllmModel) and choice.encoder is not None and settings.ingest.enabled:
            engine = await asyncio.to_thread(
                open_tower, choice.encoder, executor=executor, clock=clock, meter=meter
            )
            stack.push_async_callback(engine.aclose)
            await engine.start()
        known = (knows or _known_to_builtin()) if decoder.profile.own_world else None
        prompt = await asyncio.to_thread(_prompt_watch, choice, decoder)
        yield Answering(decoder, _encoder(engine, executor, known) if engine else None, known, prompt)


def _prompt_watch(choice: ModelChoice, decoder: Decoder) -> PromptWatch | None:
    if not isinstance(choice, VllmModel) or choice.encoder is None:
        return None
    return PromptWatch(PromptProbe(choice.settings, checkpoint_of(choice.encoder)).look, decoder.healthy)


def _encoder(engine: Engine, executor: Executor, knows: KnowsPicture | None) -> EngineEncoder:
    profile = engine.profile
    version, detail = profile.encoder_version or "", str(profile.frame_tokens)
    return EngineEncoder(engine, version, detail, executor, knows)


@asynccontextmanager
async def _frames(
    choice: ModelChoice, settings: Settings, window: WindowReader | None, meter: Meter
) -> AsyncIterator[FrameSource | None]:
    """Give what vLLM can read, for the length of the block; None where it is sent no refs."""
    if not isinstance(choice, VllmModel) or choice.encoder is None:
        yield None
        return
    from featcache.published import PublishedWindow  # these need the extra
    from featcache.redis_reader import RedisReader

    reader = RedisReader(settings.redis, meter=meter)
    own = window if isinstance(window, PublishedWindow) else None
    try:
        yield DecoderFrames(reader, window, own=own)
    finally:
        await reader.aclose()


def _known_to_builtin() -> KnowsPicture:
    from models.builtin.domain import in_domain

    return in_domain
