"""B30: frames of different size in one engine at the same moment, and features that are not of the model's shape.

In this process; ``tests/e2e/test_vllm_whole.py`` does the same with vLLM.
"""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from core.frames import Features
from core.ids import CameraId, RequestId, make_frame_ref
from core.meter import Metric
from models.decoder import Delta, SamplingParams
from models.engine import Engine
from models.prompt import FramePart, Prompt
from tests.support.tiny_model import NoisePicture, tiny_engine, tiny_model_folder

__all__ = ["tiny_model_folder"]

pytestmark = pytest.mark.torch

WIDE, TALL = (640, 360), (240, 640)
ROUNDS = 50


def frames_of(camera: str, encoded: list[Features]) -> tuple[FramePart, ...]:
    refs = [
        make_frame_ref(CameraId(camera), n, encoder=held.encoder_version) for n, held in enumerate(encoded)
    ]
    return tuple(
        FramePart(f"[14:03:{n:02d}]", ref, features=held)
        for n, (ref, held) in enumerate(zip(refs, encoded, strict=True))
    )


async def encode(engine: Engine, size: tuple[int, int]) -> list[Features]:
    return list(await asyncio.gather(*(engine.encode(NoisePicture(n, *size)) for n in range(3))))


async def ask(engine: Engine, frames: tuple[FramePart, ...], number: int) -> list[Delta]:
    prompt = Prompt("You watch.", frames, "What?")
    stream = engine.generate(
        prompt, request_id=RequestId(f"req_{number}"), sampling=SamplingParams(max_tokens=6)
    )
    async with aclosing(stream) as deltas:  # type: ignore[type-var]  # a generator, said to be an iterator
        return [delta async for delta in deltas]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


async def test_two_cameras_of_different_size_asked_at_once_get_their_own_answers_fifty_times(
    tiny_model_folder: Path,
) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, _m):
        front = frames_of("front", await encode(engine, WIDE))
        back = frames_of("back", await encode(engine, TALL))
        assert front[0].features is not None
        assert back[0].features is not None
        assert front[0].features.shape != back[0].features.shape
        alone = [text_of(await ask(engine, frames, 0)) for frames in (front, back)]
        assert alone[0] != alone[1]
        for number in range(ROUNDS):
            both = await asyncio.gather(ask(engine, front, number), ask(engine, back, number))
            assert [text_of(deltas) for deltas in both] == alone
        assert engine.healthy()


async def test_a_row_too_few_and_a_wrong_width_cost_their_frame_and_nothing_else(
    tiny_model_folder: Path,
) -> None:
    async with tiny_engine(tiny_model_folder) as (engine, _, meter):
        good, short, narrow = await encode(engine, WIDE)
        (tokens, width), row_bytes = short.shape, short.shape[1] * 2
        short = Features(
            short.data[:-row_bytes], short.dtype, (tokens - 1, width), short.grid, short.encoder_version
        )
        narrow = Features(
            narrow.data[: -tokens * 2], narrow.dtype, (tokens, width - 1), narrow.grid, narrow.encoder_version
        )
        frames = frames_of("front", [good, short, narrow])
        deltas = await ask(engine, frames, 1)
        usage = deltas[-1].usage
        assert usage is not None
        assert usage.refused == (frames[1].ref, frames[2].ref)
        assert meter.total(Metric.FEATURES_REFUSED) == 2
        assert text_of(deltas) == text_of(await ask(engine, frames[:1], 2))
        assert engine.healthy()
