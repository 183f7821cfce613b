"""The front door: from a choice of model to a decoder that is ready to start. Light until a model is named."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.clock import Clock
from core.meter import Meter
from models.checkpoint import Checkpoint, read_checkpoint
from models.compute import choose_compute, look_at_hardware
from models.engine import Engine, EngineSettings
from models.engine_loop import Runner
from models.errors import ModelNotLoadable
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings
from models.text import ChatText


@dataclass(frozen=True, slots=True)
class NoModel:
    """Nobody reads pictures; questions get the measured answer."""


BUILTIN = "builtin"
"""The name under which the built-in model answers."""


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    """The small model that comes with livelens. It knows generated scenes only, at sizes of its own.

    Where ``settings.dtype`` is ``auto`` it computes in fp32: the same answers on every machine, and sooner (5 ms a
    token instead of 9 with bf16 units, measured 2026-11-30).
    """

    settings: EngineSettings = field(default_factory=EngineSettings)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A checkpoint run in this process: a folder or a hub name.

    Attributes:
        frame_tokens, window_tokens: Vision tokens of a frame and of a question; None takes 196 and 8,192.
    """

    model: str
    frame_tokens: int | None = None
    window_tokens: int | None = None
    settings: EngineSettings = field(default_factory=EngineSettings)


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """Whatever answers at an OpenAI-compatible address."""

    settings: OpenAISettings


ModelChoice = NoModel | BuiltinModel | LocalModel | RemoteModel


def open_decoder(
    choice: ModelChoice, *, executor: Executor, clock: Clock, meter: Meter
) -> Engine | OpenAIDecoder | None:
    """Return the decoder of a choice, not started yet; None for none. Both have ``start`` and ``aclose``.

    Reads files, imports torch and may fetch a named model, so call it outside the event loop.

    Args:
        executor: Prepares pictures and prompts for a local model; it stays the caller's.
    Raises:
        ModelNotLoadable: with the line to end the start with.
    """
    match choice:
        case NoModel():
            return None
        case BuiltinModel() | LocalModel():
            return open_engine(choice, executor=executor, clock=clock, meter=meter)
        case RemoteModel():
            return OpenAIDecoder(choice.settings, clock=clock)


def open_engine(
    choice: BuiltinModel | LocalModel,
    *,
    executor: Executor,
    clock: Clock,
    meter: Meter,
    runner: Callable[[Checkpoint, EngineSettings], Runner] | None = None,
) -> Engine:
    """Return the engine of a model in this process, not started yet. Raises ModelNotLoadable.

    ``runner`` makes the part that computes; by default the model itself.
    """
    settings = choice.settings
    if isinstance(choice, BuiltinModel):
        checkpoint = read_builtin()
        settings = replace(settings, dtype="float32") if settings.dtype == "auto" else settings
    else:
        checkpoint = read_checkpoint(
            choice.model, frame_tokens=choice.frame_tokens, window_tokens=choice.window_tokens
        )
    return Engine(
        checkpoint,
        (runner or _model_runner)(checkpoint, settings),
        text=ChatText.load(checkpoint),
        executor=executor,
        clock=clock,
        meter=meter,
        settings=settings,
    )


def read_builtin() -> Checkpoint:
    """Return the built-in model's checkpoint; its weights are part of the package. Raises ModelNotLoadable."""
    from models.builtin import architecture

    folder = Path(architecture.__file__).parent / "weights"
    if not folder.is_dir():
        raise ModelNotLoadable(BUILTIN, "its weights are not in this installation")
    return read_checkpoint(
        str(folder),
        name=BUILTIN,
        frame_tokens=architecture.FRAME_TOKENS,
        window_tokens=architecture.WINDOW_TOKENS,
        own_world=True,
    )


def _model_runner(checkpoint: Checkpoint, settings: EngineSettings) -> Runner:
    try:
        from models.qwen_vl import QwenVL
    except ImportError as error:
        raise ModelNotLoadable(
            checkpoint.name, f"the extra 'encoder' is not installed ({error.name} is missing)"
        ) from None
    compute = choose_compute(
        look_at_hardware(),
        checkpoint.weights_type,
        device=settings.device,
        dtype=settings.dtype,
        threads=settings.cpu_threads,
    )
    return QwenVL(checkpoint, compute, kept_bytes=settings.kept_bytes)
