"""The command ``livelens plan``: reads sizes, calls the arithmetic, prints."""

import json
import re
from typing import TYPE_CHECKING, Annotated

import typer

from livelens.errors import WrongArgument

if TYPE_CHECKING:
    from models.plan import NumberType

_SIZES = {
    "": 1 << 30,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 1 << 10,
    "kib": 1 << 10,
    "m": 1 << 20,
    "mib": 1 << 20,
    "g": 1 << 30,
    "gib": 1 << 30,
    "t": 1 << 40,
    "tib": 1 << 40,
}


def plan(
    model: Annotated[
        str, typer.Option("--model", help="builtin, a folder with config.json, that file, or a hub name.")
    ],
    cameras: Annotated[int, typer.Option("--cameras", help="Cameras.")] = 1,
    resolution: Annotated[str, typer.Option("--resolution", help="Their picture size.")] = "1280x720",
    fps: Annotated[float, typer.Option("--fps", help="Their frames a second.")] = 25.0,
    busy: Annotated[
        float, typer.Option("--busy", help="Share of the time in which something moves, 0 to 1.")
    ] = 0.25,
    kept_fps: Annotated[
        float | None,
        typer.Option("--kept-fps", help="Frames kept of one camera a second, instead of --busy."),
    ] = None,
    frame_tokens: Annotated[
        int | None, typer.Option("--frame-tokens", help="Vision tokens of one frame; 196, builtin fewer.")
    ] = None,
    jpeg: Annotated[str, typer.Option("--jpeg", help="Mean size of a kept picture.")] = "60kB",
    minutes: Annotated[float, typer.Option("--minutes", help="Window in the pool.")] = 10.0,
    redis_minutes: Annotated[
        float | None, typer.Option("--redis-minutes", help="Window in Redis; that of the pool if not given.")
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="Features as int8.")] = False,
    concurrent: Annotated[int, typer.Option("--concurrent", help="Questions at once.")] = 16,
    window_tokens: Annotated[
        int | None,
        typer.Option("--window-tokens", help="Vision tokens of one question; 8192, builtin fewer."),
    ] = None,
    answer_tokens: Annotated[int, typer.Option("--answer-tokens", help="Tokens of an answer.")] = 256,
    context: Annotated[
        int | None, typer.Option("--context", help="Tokens of one question in all, instead of the two above.")
    ] = None,
    batch_tokens: Annotated[int, typer.Option("--batch-tokens", help="Prompt tokens in one step.")] = 8192,
    block_tokens: Annotated[
        int, typer.Option("--block-tokens", help="Tokens of one KV block: 16 on a GPU, 128 on a CPU.")
    ] = 16,
    weights: Annotated[str, typer.Option("--weights", help="fp32, fp16, bf16, fp8 or int8.")] = "bf16",
    kv: Annotated[str, typer.Option("--kv", help="fp32, fp16, bf16 or fp8.")] = "bf16",
    picture_tokens: Annotated[
        int,
        typer.Option("--picture-tokens", help="Largest picture the engine may encode itself; 0 for none."),
    ] = 16_384,
    runtime_memory: Annotated[
        str, typer.Option("--runtime-memory", help="GPU context, graphs, libraries.")
    ] = "1GiB",
    gpu_memory: Annotated[
        str | None, typer.Option("--gpu-memory", help="Memory of the engine's GPU: 24GiB, 80GB.")
    ] = None,
    gpu_share: Annotated[float, typer.Option("--gpu-share", help="Share of it the engine may use.")] = 0.9,
    pool_memory: Annotated[
        str | None, typer.Option("--pool-memory", help="Memory for the window in the pool.")
    ] = None,
    redis_memory: Annotated[str | None, typer.Option("--redis-memory", help="Memory of Redis.")] = None,
    cores: Annotated[float | None, typer.Option("--cores", help="Processor cores.")] = None,
    encoder_fps: Annotated[
        float | None, typer.Option("--encoder-fps", help="Frames a second that the encoder does, measured.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Work out memory, window and processor cores for cameras and questions, and what fits."""
    from livelens.plan import RoadLoad, Room, check_context, plan_road, question_tokens
    from livelens.plan_table import as_json as plan_as_json
    from livelens.plan_table import table
    from models.plan import EngineLoad
    from models.plan_config import read_shape, usual_tokens

    width_px, height_px = parse_resolution(resolution)
    shape = read_shape(model)
    usual = usual_tokens(model, shape)
    frame_tokens, window_tokens = frame_tokens or usual[0], window_tokens or usual[1]
    try:
        road = RoadLoad(
            cameras=cameras,
            width_px=width_px,
            height_px=height_px,
            fps=fps,
            busy=busy,
            kept_fps=kept_fps,
            frame_tokens=frame_tokens,
            jpeg_bytes=parse_size(jpeg, "--jpeg"),
            minutes=minutes,
            redis_minutes=minutes if redis_minutes is None else redis_minutes,
            int8=int8,
        )
        engine = EngineLoad(
            questions=concurrent,
            context_tokens=context
            or question_tokens(
                window_tokens=window_tokens, frame_tokens=frame_tokens, answer_tokens=answer_tokens
            ),
            batch_tokens=batch_tokens,
            block_tokens=block_tokens,
            weights=_number_type(weights, "--weights"),
            kv=_number_type(kv, "--kv"),
            picture_tokens=picture_tokens,
            runtime_bytes=parse_size(runtime_memory, "--runtime-memory"),
        )
        room = Room(
            gpu_bytes=_size(gpu_memory, "--gpu-memory"),
            gpu_share=gpu_share,
            pool_bytes=_size(pool_memory, "--pool-memory"),
            redis_bytes=_size(redis_memory, "--redis-memory"),
            cores=cores,
            encoder_fps=encoder_fps,
        )
        check_context(shape, engine)
    except ValueError as error:
        raise WrongArgument(str(error)) from None
    found = plan_road(shape, road, engine, room)
    if as_json:
        print(json.dumps(plan_as_json(found, shape), ensure_ascii=False, indent=2))
    else:
        print(table(found, shape))


def parse_size(text: str, option: str) -> int:
    """Return the bytes of ``24GiB``, ``80GB`` or ``512MiB``; a plain number is GiB. Raises WrongArgument."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if found is None or found[2] not in _SIZES:
        raise WrongArgument(f"{option} takes a size such as 24GiB or 512MiB, not {text!r}")
    return round(float(found[1]) * _SIZES[found[2]])


def parse_resolution(text: str) -> tuple[int, int]:
    """Return width and height of ``1920x1080`` or ``1080p``. Raises WrongArgument."""
    named = {"480p": (854, 480), "720p": (1280, 720), "1080p": (1920, 1080), "4k": (3840, 2160)}
    if text.lower() in named:
        return named[text.lower()]
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text.lower(), re.ASCII)
    if found is None:
        raise WrongArgument(f"--resolution takes 1280x720 or 1080p, not {text!r}")
    return int(found[1]), int(found[2])


def _size(text: str | None, option: str) -> int | None:
    return None if text is None else parse_size(text, option)


def _number_type(text: str, option: str) -> "NumberType":
    from models.plan import NumberType

    try:
        return NumberType(text.lower())
    except ValueError:
        known = ", ".join(known.value for known in NumberType)
        raise WrongArgument(f"{option} takes one of {known}, not {text!r}") from None
