"""The front door: from a choice of model to a decoder that is ready to start. Light until a model is named."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path

from core.clock import Clock
from core.meter import Meter
from models.checkpoint import Checkpoint, read_checkpoint
from models.compute import Compute, choose_compute, look_at_hardware
from models.engine import Engine, EngineSettings
from models.engine_loop import Runner
from models.errors import ModelNotLoadable
from models.openai import OpenAIDecoder
from models.openai_settings import OpenAISettings
from models.text import ChatText
from models.vllm import VllmDecoder
from models.vllm_frames import FrameSource
from models.vllm_settings import VllmSettings


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


@dataclass(frozen=True, slots=True)
class VllmModel:
    """vLLM gives the words, and the vision tower of the same model encodes in this process (``open_tower``).

    ``encoder`` None sends vLLM pictures, which it encodes itself.
    """

    settings: VllmSettings
    encoder: BuiltinModel | LocalModel | None = None


ModelChoice = NoModel | BuiltinModel | LocalModel | RemoteModel | VllmModel


def open_decoder(
    choice: ModelChoice,
    *,
    executor: Executor,
    clock: Clock,
    meter: Meter,
    frames: FrameSource | None = None,
) -> Engine | OpenAIDecoder | VllmDecoder | None:
    """Return the decoder of a choice, not started yet; None for none. All have ``start`` and ``aclose``.

    Reads files, imports torch and may fetch a named model, so call it outside the event loop.

    Args:
        executor: Prepares pictures and prompts for a local model; it stays the caller's.
        frames: Tells which frames vLLM finds.
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
        case VllmModel(settings, encoder):
            checkpoint = _checkpoint_of(encoder) if encoder else None
            return VllmDecoder(settings, clock=clock, meter=meter, checkpoint=checkpoint, frames=frames)


def open_tower(
    choice: BuiltinModel | LocalModel, *, executor: Executor, clock: Clock, meter: Meter
) -> Engine:
    """Return an engine that encodes and says nothing: of the model's weights it loads the vision tower only.

    Raises ModelNotLoadable.
    """
    return open_engine(choice, executor=executor, clock=clock, meter=meter, runner=_tower_runner)


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
    if isinstance(choice, BuiltinModel) and settings.dtype == "auto":
        settings = replace(settings, dtype="float32")
    checkpoint = _checkpoint_of(choice)
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


def _checkpoint_of(choice: BuiltinModel | LocalModel) -> Checkpoint:
    if isinstance(choice, BuiltinModel):
        return read_builtin()
    return read_checkpoint(choice.model, frame_tokens=choice.frame_tokens, window_tokens=choice.window_tokens)


def _model_runner(checkpoint: Checkpoint, settings: EngineSettings) -> Runner:
    try:
        from models.qwen_vl import QwenVL
    except ImportError as error:
        raise _extra_missing(checkpoint, error) from None
    return QwenVL(checkpoint, _compute(checkpoint, settings), kept_bytes=settings.kept_bytes)


def _tower_runner(checkpoint: Checkpoint, settings: EngineSettings) -> Runner:
    try:
        from models.qwen_tower import QwenTower
    except ImportError as error:
        raise _extra_missing(checkpoint, error) from None
    return QwenTower(checkpoint, _compute(checkpoint, settings))


def _compute(checkpoint: Checkpoint, settings: EngineSettings) -> Compute:
    return choose_compute(
        look_at_hardware(),
        checkpoint.weights_type,
        device=settings.device,
        dtype=settings.dtype,
        threads=settings.cpu_threads,
    )


def _extra_missing(checkpoint: Checkpoint, error: ImportError) -> ModelNotLoadable:
    return ModelNotLoadable(
        checkpoint.name, f"the extra 'encoder' is not installed ({error.name} is missing)"
    )
