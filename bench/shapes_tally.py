"""From what the processes of ``shapes`` measured to its rows: measured over planned, by model and in all. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.report import Figure
from models.plan import EngineLoad, NumberType, activation_bytes, kv_token_bytes, tower_bytes, weights_bytes
from models.plan_shape import ModelShape, VisionShape

STEP_TOKENS = 1_024
TOWER_TOKENS = 392  # two frames of 196


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole model in a process of its own.

    Attributes:
        loaded_bytes: What the process grew by while it loaded; ``peak_bytes`` at most meanwhile.
        feature_shape: Tokens and width of one frame's features; ``feature_bytes`` theirs.
        deepstack: DeepStack layers whose output the tower gave.
        kv_bytes: Attention state of ``kv_tokens`` tokens.
    """

    loaded_bytes: int
    peak_bytes: int
    feature_shape: tuple[int, int]
    feature_bytes: int
    deepstack: int
    kv_bytes: int
    kv_tokens: int


@dataclass(frozen=True, slots=True)
class Layers:
    """What was allocated at the peak of one step of ``STEP_TOKENS`` tokens, and of the tower on ``TOWER_TOKENS``."""

    step_bytes: int
    tower_bytes: int


@dataclass(frozen=True, slots=True)
class Served:
    """A model in vLLM: its engine's memory, and what it tells of its attention state."""

    engine_bytes: int
    kv_bytes: int
    kv_tokens: int
    prompt_tokens: int


def whole_ratios(shape: ModelShape, found: Whole) -> dict[str, float]:
    """Return measured over planned of a whole model. Raises AssertionError where widths are not the plan's."""
    if (found.feature_shape[1], found.deepstack) != (shape.feature_width, shape.vision.deepstack):
        raise AssertionError(
            f"{shape.name}: features {found.feature_shape[1]} wide of {found.deepstack} DeepStack layers; "
            f"planned {shape.feature_width} of {shape.vision.deepstack}"
        )
    token = kv_token_bytes(shape.text, NumberType.BF16)
    return {
        "weights": found.loaded_bytes / weights_bytes(shape, NumberType.BF16),
        "features": found.feature_bytes / (found.feature_shape[0] * shape.feature_width * 2),
        "kv": found.kv_bytes / (found.kv_tokens * token),
    }


def served_ratios(shape: ModelShape, found: Served) -> dict[str, float]:
    """Return measured over planned of a model in vLLM: the attention state of a token, as many as vLLM makes room for."""
    token = kv_token_bytes(shape.text, NumberType.BF16)
    return {"kv_in_vllm": found.kv_bytes / found.kv_tokens / token}


def layer_ratios(shape: ModelShape, found: Layers) -> dict[str, float]:
    """Return measured over planned of what a step and the tower need; fp32 takes twice what is planned in 16 bit."""
    load = EngineLoad(questions=1, context_tokens=STEP_TOKENS, batch_tokens=STEP_TOKENS, picture_tokens=0)
    return {
        "step": found.step_bytes / (2 * activation_bytes(shape, load)),
        "tower": found.tower_bytes / tower_fp32_bytes(shape.vision, TOWER_TOKENS),
    }


def tower_fp32_bytes(vision: VisionShape, tokens: int) -> int:
    """Return what is planned for the tower, in fp32: values twice as wide, but angles, and pixels once, as they come."""
    patches = tokens * vision.merge**2
    pixels = vision.channels * vision.temporal * vision.patch_px**2
    angles = 2 * (vision.hidden // vision.heads)
    return 2 * tower_bytes(vision, tokens) - patches * (pixels * 8 + angles * 4)


def whole_figures(size: str, found: Whole) -> list[Figure]:
    """Return the rows of a whole model that are no ratios."""
    return [
        _plain(f"shapes.{size}.loaded", found.loaded_bytes / (1 << 30), "GiB"),
        _plain(f"shapes.{size}.loading_peak", found.peak_bytes / (1 << 30), "GiB"),
        _plain(f"shapes.{size}.feature_width", found.feature_shape[1], "values"),
        _plain(f"shapes.{size}.deepstack", found.deepstack, "layers"),
    ]


def served_figures(size: str, shape: ModelShape, found: Served) -> list[Figure]:
    """Return the rows of a model in vLLM: the engine's process beside weights, one question's KV, and the assumed runtime."""
    kv = found.prompt_tokens * kv_token_bytes(shape.text, NumberType.BF16)
    planned = weights_bytes(shape, NumberType.BF16) + kv + EngineLoad(1, 1).runtime_bytes
    return [
        _plain(f"shapes.{size}.vllm.engine", found.engine_bytes / (1 << 30), "GiB"),
        _plain(f"shapes.{size}.vllm.engine.ratio", found.engine_bytes / planned, "x"),
    ]


def ratio_figures(ratios: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    """Return each ratio by model, and by part how far any model's is off its plan."""
    found = [
        _plain(f"shapes.{size}.{part}.ratio", ratio, "x")
        for size, some in ratios.items()
        for part, ratio in some.items()
    ]
    parts = dict.fromkeys(part for some in ratios.values() for part in some)
    for part in parts:
        off = [abs(some[part] - 1) for some in ratios.values() if part in some]
        found.append(Figure(f"shapes.{part}.off", max(off), "share", (min(off), max(off)), len(off)))
    return found


def grid_of(tokens: int, *, merge: int = 2) -> tuple[int, int, int]:
    """Return the grid (in patches) of one picture of so many vision tokens, as near to a square as whole cells can be."""
    rows = next(rows for rows in range(int(tokens**0.5), 0, -1) if tokens % rows == 0)
    return 1, merge * rows, merge * (tokens // rows)


def _plain(name: str, value: float, unit: str) -> Figure:
    return Figure(name, value, unit, (value, value), 1)
