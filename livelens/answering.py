"""Who answers: the model named in the settings, opened once, or nobody, which means measured answers."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.clock import Clock
from core.frames import Features, Picture
from core.meter import Meter
from livelens.settings import Settings
from models import (
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


@dataclass(frozen=True, slots=True)
class EngineEncoder:
    """The engine as ``featcache.fill.Encoder``."""

    engine: Engine
    version: str
    frame_detail: str

    async def encode(self, picture: Picture) -> Features:
        """Return the picture's features. Raises DecoderUnavailable, BadFeatures."""
        return await self.engine.encode(picture)


@dataclass(frozen=True, slots=True)
class Answering:
    """The decoder of this process, and the encoder that feeds the window for it; None where there is none."""

    decoder: Decoder | None = None
    encoder: EngineEncoder | None = None

    def answered_by(self) -> str:
        """Return the name that answers carry."""
        return MEASURED if self.decoder is None else self.decoder.profile.name

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
    return LocalModel(
        settings.model,
        frame_tokens=settings.frame_tokens or None,
        window_tokens=settings.window_tokens or None,
        settings=settings.engine,
    )


@asynccontextmanager
async def answering(
    settings: Settings, *, executor: Executor, clock: Clock, meter: Meter
) -> AsyncIterator[Answering]:
    """Open the model for the length of the block. Raises ModelNotLoadable."""
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
            encoder = EngineEncoder(decoder, profile.encoder_version or "", str(profile.frame_tokens))
        yield Answering(decoder, encoder)
    finally:
        await decoder.aclose()
