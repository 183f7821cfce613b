"""What a road of so many cameras needs: frames, window, Redis, processor cores; and how many cameras fit. Pure.

    cameras × kept frames a second × bytes a frame × minutes ──▶ window in the pool, and in Redis
    cameras × CPU seconds a minute                          ──▶ cores

The engine's own memory is ``models.plan``; this module puts both together. Whatever was measured is named so, with
the machine it was measured on; nothing else here is a measurement.
"""

from dataclasses import dataclass, field
from math import floor

from models.plan import EngineLoad, EngineMemory, NumberType, engine_memory, tower_bytes
from models.plan_shape import ModelShape

POOL_FRAME_BYTES = 512
"""What the pool counts for a frame beside picture and features (``featcache.shelf``)."""

REDIS_VALUE_BYTES = 256
"""Header (64 bytes) and record (JSON) of a frame's value, beside its features and picture."""

REDIS_ENTRY_BYTES = 640
"""Key, index entry and their share of tables in Redis. Measured with redis-server 7.0: 500 to 700 bytes a frame."""

HEARTBEAT_FPS, BUSY_FPS = 0.5, 4.0
"""Frames that the sampler keeps of a quiet camera, and at most of one where something moves (``[sampler]``)."""

QUESTION_TEXT_TOKENS = 600
LABEL_TOKENS = 14
"""System text, history and question; and the label of one frame with its two marks. Generous, Qwen's tokenizer."""

INT8_SCALE_BYTES = 4
"""With int8 features, one scale per vision token."""

ENCODE_BATCH = 8
"""Frames that the service's encoder takes in one step at most (``[engine] limits.encode_batch``)."""

USABLE_CPU = 0.7
"""The share of the cores that cameras may take, so that answers, the web server and bursts find room."""


@dataclass(frozen=True, slots=True)
class MeasuredCpu:
    """CPU seconds of the whole service for one camera and minute, at a picture size and rate."""

    pixels_per_s: float
    quiet_s: float
    busy_s: float


MEASURED_CPU = (
    MeasuredCpu(1280 * 720 * 25.0, quiet_s=4.6, busy_s=7.4),
    MeasuredCpu(1920 * 1080 * 25.0, quiet_s=6.7, busy_s=10.5),
)
"""``python -m bench camera`` on 2 shared cores of one machine (AMD EPYC), H.264 over RTSP, no viewers, 2026-11."""


@dataclass(frozen=True, slots=True)
class RoadLoad:
    """What comes in and how long it is kept.

    Attributes:
        busy: Share of the time in which something moves before a camera, 0 to 1.
        kept_fps: Frames kept of one camera a second; None derives it from ``busy``.
        jpeg_bytes: Mean size of a kept picture. Measured on real clips at quality 80: 0.05 to 0.28 bytes a pixel.
        minutes, redis_minutes: Span of the pool's window, and of its newest part that Redis holds.
        int8: Features are stored as int8 with a scale per token instead of 16-bit floats.
    """

    cameras: int = 1
    width_px: int = 1280
    height_px: int = 720
    fps: float = 25.0
    busy: float = 0.25
    kept_fps: float | None = None
    frame_tokens: int = 196
    jpeg_bytes: int = 60_000
    minutes: float = 10.0
    redis_minutes: float = 10.0
    int8: bool = False

    def __post_init__(self) -> None:
        for name in ("cameras", "width_px", "height_px", "frame_tokens", "jpeg_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("fps", "minutes", "redis_minutes"):
            if not 0 < getattr(self, name) < 1e9:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")
        if not 0 <= self.busy <= 1:
            raise ValueError(f"busy must be between 0 and 1, got {self.busy}")
        if self.kept_fps is not None and not 0 < self.kept_fps <= self.fps:
            raise ValueError(f"kept_fps must be above 0 and at most fps ({self.fps:g}), got {self.kept_fps}")

    @property
    def kept(self) -> float:
        """Return the frames kept of one camera a second."""
        if self.kept_fps is not None:
            return self.kept_fps
        return min(self.fps, HEARTBEAT_FPS + self.busy * (BUSY_FPS - HEARTBEAT_FPS))


@dataclass(frozen=True, slots=True)
class Room:
    """What there is. None means: not said, so it limits nothing."""

    gpu_bytes: int | None = None
    gpu_share: float = 0.9
    pool_bytes: int | None = None
    redis_bytes: int | None = None
    cores: float | None = None
    encoder_fps: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.gpu_share <= 1:
            raise ValueError(f"gpu_share must be above 0 and at most 1, got {self.gpu_share}")
        for name in ("gpu_bytes", "pool_bytes", "redis_bytes", "cores", "encoder_fps"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be above 0, got {value}")

    @property
    def engine_bytes(self) -> int | None:
        """Return the GPU memory an engine may use."""
        return None if self.gpu_bytes is None else floor(self.gpu_bytes * self.gpu_share)


@dataclass(frozen=True, slots=True)
class FrameBytes:
    """One kept frame: its features as floats and as int8, and what it takes in the pool and in Redis."""

    features: int
    features_int8: int
    pool: int
    redis: int


@dataclass(frozen=True, slots=True)
class Limit:
    """How many cameras one resource carries; ``of`` names the resource."""

    of: str
    cameras: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole answer.

    Attributes:
        cpu_seconds: CPU of one camera a minute at this load; ``cpu_measured`` says that size and rate were measured.
        encoder_bytes: What the service takes to encode: the tower alone, and one batch of frames.
        questions_fit: Questions of the load's size that the GPU carries at once; None without a size of the GPU.
        limits: One for each resource that was named; the smallest decides.
    """

    model: str
    load: RoadLoad
    room: Room
    engine: EngineMemory
    engine_load: EngineLoad
    encoder_bytes: int
    frame: FrameBytes
    pool_bytes: int
    redis_bytes: int
    encoded_fps: float
    cpu_seconds: float
    cpu_measured: bool
    cores: float
    questions_fit: int | None
    limits: tuple[Limit, ...] = field(default=())

    @property
    def cameras_fit(self) -> int | None:
        """Return how many cameras all named resources carry; None where none was named."""
        return min((limit.cameras for limit in self.limits), default=None)


def plan_road(shape: ModelShape, load: RoadLoad, engine: EngineLoad, room: Room) -> Plan:
    """Return what a road needs, and what fits into what there is."""
    memory = engine_memory(shape, engine)
    frame = frame_bytes(shape, load)
    kept_a_minute = load.kept * 60
    pool_each = kept_a_minute * load.minutes * frame.pool
    redis_each = kept_a_minute * load.redis_minutes * frame.redis
    seconds, measured = cpu_seconds(load)
    return Plan(
        model=shape.name,
        load=load,
        room=room,
        engine=memory,
        engine_load=engine,
        encoder_bytes=shape.vision.weights() * NumberType.BF16.size_bytes
        + tower_bytes(shape.vision, ENCODE_BATCH * load.frame_tokens),
        frame=frame,
        pool_bytes=round(pool_each * load.cameras),
        redis_bytes=round(redis_each * load.cameras),
        encoded_fps=load.kept * load.cameras,
        cpu_seconds=seconds,
        cpu_measured=measured,
        cores=seconds / 60 * load.cameras / USABLE_CPU,
        questions_fit=None if room.engine_bytes is None else memory.questions_in(room.engine_bytes),
        limits=_limits(
            (
                ("pool memory", room.pool_bytes, pool_each),
                ("Redis memory", room.redis_bytes, redis_each),
                ("CPU cores", room.cores and room.cores * USABLE_CPU, seconds / 60),
                ("encoder", room.encoder_fps, load.kept),
            ),
        ),
    )


def _limits(each: tuple[tuple[str, float | None, float], ...]) -> tuple[Limit, ...]:
    return tuple(Limit(name, floor(there / taken)) for name, there, taken in each if there is not None)


def frame_bytes(shape: ModelShape, load: RoadLoad) -> FrameBytes:
    """Return the bytes of one kept frame: hidden × (1 + DeepStack layers) × 2 × tokens, its picture, and our own."""
    features = shape.feature_width * 2 * load.frame_tokens
    small = (shape.feature_width + INT8_SCALE_BYTES) * load.frame_tokens
    payload = (small if load.int8 else features) + load.jpeg_bytes
    return FrameBytes(
        features=features,
        features_int8=small,
        pool=payload + POOL_FRAME_BYTES,
        redis=allocated_bytes(payload + REDIS_VALUE_BYTES) + REDIS_ENTRY_BYTES,
    )


def allocated_bytes(size_bytes: int) -> int:
    """Return what Redis' allocator takes for one value: four sizes for each doubling, so up to a quarter more.

    Source: jemalloc(3), size classes; measured on redis-server 7.0: values of 33, 302 and 3,271 kB took 41, 328 and
    3,670 kB.
    """
    step = max(1 << max(0, (size_bytes - 1).bit_length() - 3), 16)
    return -(-size_bytes // step) * step


def cpu_seconds(load: RoadLoad) -> tuple[float, bool]:
    """Return CPU seconds of one camera a minute, and whether its size and rate are ones that were measured.

    Between and beyond the measured ones, along the straight line through both over pixels a second.
    """
    pixels = load.width_px * load.height_px * load.fps
    low, high = MEASURED_CPU
    along = (pixels - low.pixels_per_s) / (high.pixels_per_s - low.pixels_per_s)
    quiet = low.quiet_s + along * (high.quiet_s - low.quiet_s)
    busy = low.busy_s + along * (high.busy_s - low.busy_s)
    measured = any(pixels == known.pixels_per_s for known in MEASURED_CPU)
    return quiet + load.busy * (busy - quiet), measured


def question_tokens(*, window_tokens: int, frame_tokens: int, answer_tokens: int) -> int:
    """Return the tokens of one question at its largest: frames, their labels, text around them, and the answer."""
    frames = window_tokens // frame_tokens
    return window_tokens + frames * LABEL_TOKENS + QUESTION_TEXT_TOKENS + answer_tokens


def check_context(shape: ModelShape, engine: EngineLoad) -> None:
    """Raise ValueError where a question is larger than the model's context."""
    if engine.context_tokens > shape.text.context_tokens:
        raise ValueError(
            f"a question of {engine.context_tokens:,} tokens is more than the model's context of "
            f"{shape.text.context_tokens:,}; lower --window-tokens or --context"
        )
