"""A plan as a table for people and as JSON for programs. Pure."""

from collections.abc import Iterator
from typing import Any

from livelens.plan import Plan
from models.plan import kv_token_bytes
from models.plan_shape import ModelShape

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

Row = tuple[str, str, str]


def table(plan: Plan, shape: ModelShape) -> str:
    """Return the plan as aligned lines, a heading over each part."""
    lines: list[str] = []
    for heading, rows in _parts(plan, shape):
        lines += ["", heading] if lines else [heading]
        lines += [f"  {name:34} {value:>12}  {note}".rstrip() for name, value, note in rows]
    return "\n".join(lines)


def as_json(plan: Plan, shape: ModelShape) -> dict[str, Any]:
    """Return the plan as plain values; bytes end in ``_bytes``. Any: JSON."""
    engine, load = plan.engine, plan.engine_load
    return {
        "model": {
            "name": plan.model,
            "family": shape.family,
            "weights": shape.weights(),
            "tower_weights": shape.vision.weights(),
            "feature_width": shape.feature_width,
            "context_tokens": shape.text.context_tokens,
        },
        "engine": {
            "questions": load.questions,
            "context_tokens": load.context_tokens,
            "batch_tokens": load.batch_tokens,
            "weights_bytes": engine.weights_bytes,
            "kv_token_bytes": engine.kv_token_bytes,
            "kv_question_bytes": engine.kv_question_bytes,
            "kv_bytes": engine.kv_bytes,
            "activation_bytes": engine.activation_bytes,
            "buffer_bytes": engine.buffer_bytes,
            "runtime_bytes": engine.runtime_bytes,
            "total_bytes": engine.total_bytes,
            "memory_bytes": plan.room.engine_bytes,
            "questions_fit": plan.questions_fit,
        },
        "encoder": {"total_bytes": plan.encoder_bytes},
        "frame": {
            "tokens": plan.load.frame_tokens,
            "features_bytes": plan.frame.features,
            "features_int8_bytes": plan.frame.features_int8,
            "pool_bytes": plan.frame.pool,
            "redis_bytes": plan.frame.redis,
        },
        "cameras": {
            "count": plan.load.cameras,
            "kept_fps": plan.load.kept,
            "encoded_fps": plan.encoded_fps,
            "pool_bytes": plan.pool_bytes,
            "redis_bytes": plan.redis_bytes,
            "cpu_seconds_per_minute": plan.cpu_seconds,
            "cpu_measured": plan.cpu_measured,
            "cores": plan.cores,
            "fit": plan.cameras_fit,
            "limits": {limit.of: limit.cameras for limit in plan.limits},
        },
    }


def size(size_bytes: float) -> str:
    """Return bytes in the largest unit that leaves at least 1."""
    for unit in _UNITS:
        if size_bytes < 1024 or unit == _UNITS[-1]:
            break
        size_bytes /= 1024
    return f"{size_bytes:.0f} {unit}" if unit == "B" or size_bytes >= 100 else f"{size_bytes:.3g} {unit}"


def _parts(plan: Plan, shape: ModelShape) -> Iterator[tuple[str, list[Row]]]:
    yield (
        f"Engine: {plan.model} ({shape.family}, {shape.weights() / 1e9:.3g} billion weights)",
        list(_engine(plan, shape)),
    )
    yield f"One frame of {plan.load.frame_tokens} vision tokens", list(_frame(plan, shape))
    cameras = "1 camera" if plan.load.cameras == 1 else f"{plan.load.cameras} cameras"
    yield (
        f"{cameras}, {plan.load.width_px}x{plan.load.height_px} at {plan.load.fps:g}/s",
        list(_cameras(plan)),
    )
    if plan.limits:
        yield "Cameras that fit", list(_fit(plan))


def _engine(plan: Plan, shape: ModelShape) -> Iterator[Row]:
    engine, load, text = plan.engine, plan.engine_load, shape.text
    yield "weights", size(engine.weights_bytes), f"{load.weights}, tower included"
    yield (
        "attention state (KV) of a token",
        size(engine.kv_token_bytes),
        f"2 x {text.layers} layers x {text.kv_heads} KV heads x {text.head_dim} x {load.kv.size_bytes} bytes",
    )
    yield "KV of one question", size(engine.kv_question_bytes), f"{load.context_tokens:,} tokens"
    yield f"KV of {load.questions} questions at once", size(engine.kv_bytes), ""
    yield "activations at the peak", size(engine.activation_bytes), f"{load.batch_tokens:,} tokens a step"
    yield "buffers for features", size(engine.buffer_bytes), "encoder cache and input rows"
    yield "runtime", size(engine.runtime_bytes), "assumed: GPU context, graphs, libraries"
    yield "together", size(engine.total_bytes), ""
    yield (
        "KV handed over, if run apart",
        size(kv_token_bytes(text, load.kv) * load.context_tokens),
        "from prefill to decode, for one question",
    )
    yield "the service's own encoder", size(plan.encoder_bytes), "the tower alone, and a batch of 8 frames"
    there = plan.room.engine_bytes
    if there is not None and plan.questions_fit is not None:
        verdict = "fits" if engine.total_bytes <= there else "DOES NOT FIT"
        yield (
            "memory for the engine",
            size(there),
            f"{verdict}; {plan.questions_fit} questions of this size at once",
        )


def _frame(plan: Plan, shape: ModelShape) -> Iterator[Row]:
    frame, load = plan.frame, plan.load
    yield (
        "features, 16 bit",
        size(frame.features),
        f"{shape.text.hidden} x (1 + {shape.vision.deepstack}) x 2 bytes x {load.frame_tokens} tokens",
    )
    yield "features, int8", size(frame.features_int8), "with a scale for each token"
    kind = "int8" if load.int8 else "16 bit"
    yield "in the pool", size(frame.pool), f"{kind}, with a picture of {size(load.jpeg_bytes)}"
    yield "in Redis", size(frame.redis), "as its allocator rounds it up"


def _cameras(plan: Plan) -> Iterator[Row]:
    load = plan.load
    yield (
        "frames kept of one",
        f"{load.kept:.3g}/s",
        f"busy {load.busy:.0%} of the time" if (load.kept_fps is None) else "as given",
    )
    yield "frames to encode, all", f"{plan.encoded_fps:.3g}/s", ""
    yield "window in the pool", size(plan.pool_bytes), f"{load.minutes:g} minutes"
    yield "window in Redis", size(plan.redis_bytes), f"{load.redis_minutes:g} minutes"
    source = "measured" if plan.cpu_measured else "on the line through what was measured"
    yield (
        "CPU of one camera",
        f"{plan.cpu_seconds:.3g} s/min",
        f"{source} on 2 cores of one machine; encoder not included",
    )
    yield "CPU cores, all", f"{plan.cores:.2g}", "at 70 % use"


def _fit(plan: Plan) -> Iterator[Row]:
    smallest = plan.cameras_fit
    for limit in plan.limits:
        yield limit.of, str(limit.cameras), "<- the limit" if limit.cameras == smallest else ""
