"""Who answers: the model of the settings, opened once, or nobody, which means measured answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.clock import Clock
from core.frames import Features, Picture
from core.meter import Meter
from livelens.settings import Settings
from models import (
    BUILTIN,
    BuiltinModel,
    Decoder,
    Engine,
    LocalModel,
    ModelChoice,
    NoModel,
    OpenAISettings,
    RemoteModel,
    open_decoder,
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
    """The decoder of this process, and the encoder that feeds the window for it; None where there is none."""

    decoder: Decoder | None = None
    encoder: EngineEncoder | None = None

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


def choose_model(settings: Settings) -> ModelChoice:
    """Return the choice that the settings make: an address wins over a local model."""
    if settings.model_url:
        return RemoteModel(
            OpenAISettings(
                settings.model_url,
                model=settings.model_name or None,
                api_key=settings.model_key.get_secret_value() or None,
                limits=settings.remote,
            )
        )
    if settings.model == "none":
        return NoModel()
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
) -> AsyncIterator[Answering]:
    """Open the model for the length of the block.

    Args:
        executor: The picture pool; it stays the caller's.
        knows: Tells the built-in model's pictures from others; by default the model's own check.
    Raises:
        ModelNotLoadable: the model cannot be loaded.
    """
    choice = choose_model(settings)
    decoder = await asyncio.to_thread(open_decoder, choice, executor=executor, clock=clock, meter=meter)
    if decoder is None:
        yield Answering()
        return
    try:
        await decoder.start()
        encoder = None
        if isinstance(decoder, Engine):
            profile = decoder.profile
            encoder = EngineEncoder(
                decoder,
                profile.encoder_version or "",
                str(profile.frame_tokens),
                executor,
                (knows or _known_to_builtin()) if profile.own_world else None,
            )
        yield Answering(decoder, encoder)
    finally:
        await decoder.aclose()


def _known_to_builtin() -> KnowsPicture:
    from models.builtin.domain import in_domain

    return in_domain
