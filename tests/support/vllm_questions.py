"""Questions to a real vLLM about a few pictures, shown in each way it knows: pixels, inline features, frame ids.

shots = await encode_shots(CameraId("gate-7"), count=4)      # by the built-in model, as a worker would
async with published(redis_url, shots): ...                  # into Redis, by featcache
ask(url, by_id(shots, "What is there?"))                     # -> Reply(status, text, prompt_tokens)
"""

import base64
import io
import pickle
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import numpy as np
import redis
from numpy.typing import NDArray

from core.clock import ServiceClock
from core.frames import FeatureType, KeepReason
from core.ids import CameraId, FrameRef, Incarnation, make_frame_ref
from core.meter import NullMeter
from featcache.codec import HEADER_BYTES, encode_frame
from featcache.redis import RedisWindow
from featcache.redis_keys import LifeKeys
from featcache.redis_settings import RedisSettings
from featcache.settings import Settings
from featcache.window import StoredFrame
from tests.support.pictures import ArrayPicture

NOON_US = 1_700_000_000_000_000
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture, 160 × 128, with the frame it is stored as."""

    pixels: NDArray[np.uint8]
    frame: StoredFrame

    def of(self, camera_id: CameraId) -> "Shot":
        """Return the same picture as another camera's."""
        ref = self.frame.ref.replace(f"{self.frame.camera_id}/", f"{camera_id}/", 1)
        return Shot(self.pixels, replace(self.frame, camera_id=camera_id, ref=FrameRef(ref)))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: HTTP status, text and prompt tokens (of a good one), whole body."""

    status: int
    text: str
    prompt_tokens: int
    cached_tokens: int
    body: str


def draw(number: int) -> NDArray[np.uint8]:
    """Return a picture with two coloured squares, another one for each number."""
    dice = np.random.default_rng(number)
    pixels = np.full((128, 160, 3), dice.integers(120, 240, 3), np.uint8)
    for _ in range(2):
        top, left = dice.integers(0, 96), dice.integers(0, 128)
        pixels[top : top + 32, left : left + 32] = dice.integers(0, 256, 3)
    return pixels


async def encode_shots(camera_id: CameraId, *, count: int, first: int = 0) -> tuple[Shot, ...]:
    """Return pictures encoded by the built-in model in this process, one a second. Takes seconds."""
    from models.engine import Engine
    from models.opening import BuiltinModel, open_engine

    with ThreadPoolExecutor(2, thread_name_prefix="pictures") as executor:
        engine: Engine = open_engine(
            BuiltinModel(), executor=executor, clock=ServiceClock(), meter=NullMeter()
        )
        await engine.start()
        try:
            shots = []
            for n in range(count):
                pixels = draw(first + n)
                features = await engine.encode(ArrayPicture(pixels))
                t_us = NOON_US + n * 1_000_000
                ref = make_frame_ref(
                    camera_id, t_us, encoder=features.encoder_version, detail=str(features.tokens)
                )
                shots.append(
                    Shot(
                        pixels,
                        StoredFrame(
                            ref,
                            camera_id,
                            t_us,
                            n,
                            KeepReason.MOTION,
                            0.1,
                            False,
                            b"jpeg",
                            160,
                            128,
                            features,
                        ),
                    )
                )
            return tuple(shots)
        finally:
            await engine.aclose()


def life_of(camera_id: CameraId) -> Incarnation:
    """Return the incarnation under which ``published`` stores a camera's frames."""
    return Incarnation(f"life-{camera_id}")


@asynccontextmanager
async def published(redis_url: str, shots: Sequence[Shot]) -> AsyncIterator[RedisWindow]:
    """Publish pictures of one camera; leaving deletes the camera."""
    window = RedisWindow(
        RedisSettings(url=redis_url), settings=Settings(retention_us=1 << 55), meter=NullMeter()
    )
    camera_id = shots[0].frame.camera_id
    life = life_of(camera_id)
    try:
        await window.open_camera(camera_id, life)
        for shot in shots:
            await window.put(shot.frame, incarnation=life)
        yield window
        await window.delete_camera(camera_id)
    finally:
        await window.aclose()


def by_id(shots: Sequence[Shot], question: str, **more: Any) -> Json:
    """Return a request that names its frames."""
    return _request([_named(shot, shot.frame.ref) for shot in shots], question, more)


def by_ids(refs: Sequence[str], like: Shot, question: str, **more: Any) -> Json:
    """Return a request that names frames of any id, each with the grid of ``like``."""
    return _request([_named(like, ref) for ref in refs], question, more)


def inline(shots: Sequence[Shot], question: str, **more: Any) -> Json:
    """Return a request that carries the features."""
    import torch

    parts = []
    for shot in shots:
        features = shot.frame.features
        assert features is not None
        value = torch.from_numpy(np.array(features.bits()).view(np.int16)).view(torch.bfloat16)
        grid = torch.tensor(features.grid)
        parts.append(
            {
                "type": "image_embeds",
                "image_embeds": {"image_embeds": _saved(value), "image_grid_thw": _saved(grid)},
            }
        )
    return _request(parts, question, more)


def by_pixels(shots: Sequence[Shot], question: str, **more: Any) -> Json:
    """Return a request that shows the pictures, without loss."""
    from PIL import Image

    parts = []
    for shot in shots:
        file = io.BytesIO()
        Image.fromarray(shot.pixels).save(file, "PNG")
        data = base64.b64encode(file.getvalue()).decode()
        parts.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})
    return _request(parts, question, more)


def ask(url: str, request: Json) -> Reply:
    """Send one request and return the whole answer."""
    with httpx2.Client(timeout=300, trust_env=False) as client:
        reply = client.post(f"{url}/v1/chat/completions", json=request)
    if reply.status_code != 200:
        return Reply(reply.status_code, "", 0, 0, reply.text)
    body = reply.json()
    details = body["usage"].get("prompt_tokens_details") or {}
    return Reply(
        200,
        body["choices"][0]["message"]["content"],
        body["usage"]["prompt_tokens"],
        int(details.get("cached_tokens") or 0),
        reply.text,
    )


def damaged(frame: StoredFrame, change: str) -> bytes:
    """Return the value of a frame as somebody else might leave it: short, dtype, nan, width, tokens, pickle."""
    features = frame.features
    assert features is not None
    good = encode_frame(frame)
    tokens, width = features.shape
    data, end = features.data, HEADER_BYTES + len(features.data)
    match change:
        case "short":
            return good[: len(good) // 2]
        case "dtype":
            other = FeatureType.F16 if features.dtype is FeatureType.BF16 else FeatureType.BF16
            return encode_frame(replace(frame, features=replace(features, dtype=other)))
        case "nan":
            return good[:HEADER_BYTES] + b"\xff" * len(data) + good[end:]
        case "width":
            half = replace(features, data=data[: tokens * width], shape=(tokens, width // 2))
            return encode_frame(replace(frame, features=half))
        case "tokens":
            fewer = replace(features, data=data[: width * 2 * (tokens // 2)], shape=(tokens // 2, width))
            return encode_frame(replace(frame, features=fewer))
        case "pickle":
            return pickle.dumps({"frame": frame.ref})
        case _:
            raise AssertionError(change)


def overwrite(redis_url: str, incarnation: Incarnation, frame: StoredFrame, value: bytes) -> None:
    """Put other bytes where a frame lies."""
    keys = LifeKeys.of(RedisSettings().prefix, frame.camera_id, incarnation)
    with redis.Redis.from_url(redis_url) as client:
        assert client.exists(keys.frame(frame.t_us))
        client.set(keys.frame(frame.t_us), value)


def _named(shot: Shot, ref: str) -> Json:
    assert shot.frame.features is not None
    grid = list(shot.frame.features.grid)
    return {"type": "image_embeds", "image_embeds": {"image_grid_thw": grid}, "uuid": ref}


def _request(parts: list[Json], question: str, more: Json) -> Json:
    content: list[Json] = []
    for number, part in enumerate(parts):
        content += [{"type": "text", "text": f"[12:00:{number:02d}]"}, part]
    content.append({"type": "text", "text": question})
    message = {"role": "user", "content": content}
    return {
        "model": "builtin",
        "messages": [message],
        "temperature": 0,
        "min_tokens": 16,
        "max_tokens": 32,
        **more,
    }


def _saved(value: Any) -> str:
    import torch

    file = io.BytesIO()
    torch.save(value, file)
    return base64.b64encode(file.getvalue()).decode()
