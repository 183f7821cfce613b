"""From a question to its first word, at 1, 8, 32 and 64 frames, with a cold and a warm prefix.

A small random Qwen3-VL (about 5 million weights, 24 vision tokens a frame) answers in the service's own process
while one 720p camera is encoded beside it. The budget is set so that 64 frames fit. A cold question is about a
span nobody asked about before; the warm one is another question about the same span. Times are the asker's own,
over the WebSocket.
"""

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection

from bench.report import Figure, median_figure, p95_figure
from bench.rig import CACHE, PartMissing, cameras, clip, livelens, many_boxes
from tests.support.asking import ask_on, rfc3339, socket
from tests.support.rtsp_server import Mount
from tests.support.service import LivelensProcess
from tests.support.tiny_model import SMALL, build_tiny_model

FRAMES = (1, 8, 32, 64)
FRAME_TOKENS = 24
ANSWER_TOKENS = 8


def _model() -> Path:
    folder = CACHE / "small-qwen3-vl"
    if not (folder / "model.safetensors").exists():
        build_tiny_model(folder, shape=SMALL)
    return folder


async def measure(*, quick: bool) -> list[Figure]:
    """Return first-word times per number of frames, cold and warm; targets judge the cold ones."""
    rounds = 5 if quick else 20
    path = clip("ask", (1280, 720), 6, many_boxes)
    settings = {
        "LIVELENS_FRAME_TOKENS": str(FRAME_TOKENS),
        "LIVELENS_WINDOW_TOKENS": str(FRAME_TOKENS * max(FRAMES)),
    }
    figures: list[Figure] = []
    async with (
        cameras({"cam": Mount([path])}) as server,
        livelens(
            ["serve", "--model", str(_model()), "--camera", f"cam={server.url('cam')}"], settings
        ) as service,
    ):
        await service.until_state("cam", "online")
        await _until_frames(service, max(FRAMES) + rounds * len(FRAMES) + 4)
        starts = count()
        async with socket(service.url) as connection:
            for frames in FRAMES:
                cold: list[float] = []
                warm: list[float] = []
                for number in range(rounds):
                    window = await _window(service, frames, start=next(starts))
                    cold.append(
                        await _first_word_ms(connection, window, f"What happened, {frames} {number}?", frames)
                    )
                    warm.append(await _first_word_ms(connection, window, "And what else was there?", frames))
                name = f"ask.first_word.{frames}"
                figures += [
                    median_figure(f"{name}.median", cold, "ms"),
                    p95_figure(f"{name}.p95", cold, "ms"),
                    median_figure(f"{name}.warm.median", warm, "ms"),
                    p95_figure(f"{name}.warm.p95", warm, "ms"),
                ]
    return figures


async def _until_frames(service: LivelensProcess, count: int) -> None:
    def enough() -> bool:
        held: int = service.camera("cam")["window"]["frames"]
        return held >= count

    await service.until(f"{count} frames are held", enough, within_s=count)


async def _window(service: LivelensProcess, frames: int, *, start: int) -> dict[str, Any]:
    """Return a window of exactly ``frames`` samples from the ``start``-th on.

    Every cold question begins with another frame, so that no kept prefix serves it but that of the system text.
    """
    reply = await asyncio.to_thread(service.get, "/api/v1/cameras/cam/frames?last_s=600&limit=1000")
    chosen = reply["frames"][start : start + frames]
    return {"from": rfc3339(chosen[0]["t_us"]), "to": rfc3339(chosen[-1]["t_us"] + 1)}


async def _first_word_ms(
    connection: ClientConnection, window: dict[str, Any], text: str, frames: int
) -> float:
    heard = await ask_on(
        connection, {"cameras": ["cam"], "text": text, "window": window, "max_tokens": ANSWER_TOKENS}
    )
    if heard.error or heard.done["frames_used"] != frames or heard.done["model"] == "measured":
        raise PartMissing(f"an answer of the model over {frames} frames: {heard.error or heard.done}")
    return heard.first_word_s * 1000
