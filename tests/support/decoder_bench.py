"""What the decoders' contract sees of a decoder, and the two that need vLLM on the other side: scripted, and real."""

import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from core.clock import ServiceClock
from core.ids import CameraId, make_frame_ref
from models.checkpoint import read_checkpoint
from models.decoder import Decoder
from models.openai_settings import OpenAISettings, RemoteLimits
from models.opening import read_builtin
from models.prompt import FramePart
from models.vllm import VllmDecoder
from models.vllm_settings import VllmSettings
from tests.support.scripted_openai import Reply, SeenRequest
from tests.support.scripted_vllm import ScriptedVllm

GATE = CameraId("gate")
WORDS = ("Ein ", "ď🔥 ", "刚刚", "有车经过 ", "at [14:03:05]. ", "und ", "weiter ", "so ", "fort.")
PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"


@dataclass(frozen=True, slots=True)
class Bench:
    """A decoder with what a test needs to see and steer of its other side.

    Attributes:
        frame: Makes a frame part the decoder can read, ``n`` seconds after 14:03:00.
        seen: The last prompt as the other side read it, frames as ``<n>``.
        running: Requests under way on the other side.
        fail_once: Makes the next request fail there.
        words: How many tokens an answer has before it ends by itself; 0 where the test cannot know.
    """

    decoder: Decoder
    frame: Callable[[int], FramePart]
    seen: Callable[[], str]
    running: Callable[[], int]
    fail_once: Callable[[], None]
    words: int


def ref_of(n: int) -> str:
    return make_frame_ref(GATE, 1_000_000 * n, encoder="e", detail="24")


def label_of(n: int) -> str:
    return f"[14:03:{n:02d}]"


@asynccontextmanager
async def scripted_vllm(folder: Path) -> AsyncIterator[Bench]:
    """The client of vLLM before a server that takes questions as vLLM does."""
    fail: list[bool] = []

    def reply(request: SeenRequest) -> Reply:
        if fail and fail.pop():
            return Reply(status=503, error="scripted")
        return Reply(deltas=WORDS, byte_by_byte=True, delta_s=0.001)

    checkpoint = read_checkpoint(str(folder), frame_tokens=24)
    with ScriptedVllm(folder, reply) as server:
        settings = VllmSettings(OpenAISettings(server.url, limits=RemoteLimits(attempts=1)))
        decoder = VllmDecoder(settings, clock=ServiceClock(), checkpoint=checkpoint)
        await decoder.start()

        def frame(n: int) -> FramePart:
            return FramePart(label_of(n), ref_of(n), jpeg=b"jpeg%d" % n, grid=(1, 8, 12))

        try:
            yield Bench(
                decoder,
                frame,
                lambda: _seen(server, server.requests[-1]),
                lambda: server.running,
                lambda: fail.append(True),
                len(WORDS),
            )
        finally:
            await decoder.aclose()


@asynccontextmanager
async def served_vllm(folder: Path) -> AsyncIterator[Bench]:
    """The client of vLLM before vLLM, with the built-in model; frames are in Redis, ids alone travel."""
    from PIL import Image

    from tests.support.vllm_questions import encode_shots, published
    from tests.support.vllm_server import under_way
    from tests.support.vllm_shared import shared_vllm, showing_pictures

    served = shared_vllm()
    checkpoint = read_builtin()
    shots = await encode_shots(CameraId(f"contract-{uuid4().hex[:12]}"), count=6)
    settings = VllmSettings(OpenAISettings(served.url, limits=RemoteLimits(attempts=1)))
    decoder = VllmDecoder(settings, clock=ServiceClock(), checkpoint=checkpoint)
    bodies: list[dict[str, Any]] = []
    fail: list[bool] = []

    async def remember(request: Any) -> None:
        if request.content:
            bodies.append(json.loads(request.content))

    def frame(n: int) -> FramePart:
        features = shots[n].frame.features
        assert features is not None
        file = io.BytesIO()
        Image.fromarray(shots[n].pixels).save(file, "JPEG")
        ref = ref_of(99) if fail and fail.pop() else shots[n].frame.ref
        return FramePart(label_of(n), ref, jpeg=file.getvalue(), grid=features.grid)

    def seen() -> str:
        request = SeenRequest("POST", "", {}, bodies[-1], 0.0)
        numbers = {shot.frame.ref: n for n, shot in enumerate(shots)}
        return _seen(ScriptedVllm(checkpoint.folder), request, lambda ref: numbers[ref])  # type: ignore[index]

    async with published(served.redis_url, shots), showing_pictures():
        await decoder.start()
        decoder._exchange._client.event_hooks = {"request": [remember]}
        try:
            yield Bench(
                decoder,
                frame,
                seen,
                lambda: under_way(served.url),
                lambda: fail.append(True),
                0,
            )
        finally:
            await decoder.aclose()


def _seen(
    server: ScriptedVllm,
    request: SeenRequest,
    number: Callable[[str], int] = lambda ref: int(ref.split("/")[1]) // 1_000_000,
) -> str:
    """Return a request's prompt as text, frames as ``<n>``."""
    text = server._rendered(request)
    for at, frame in enumerate(request.frames, start=1):
        name = number(frame.ref) if frame.ref else frame.jpeg.removeprefix(b"jpeg").decode("latin-1")
        text = text.replace(PICTURE, f"<{name if frame.ref or len(str(name)) < 3 else at}>", 1)
    return text
