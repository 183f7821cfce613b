"""From motion shown to motion that can be asked about.

A camera shows a quiet room; now and then a box jumps in. The server tells when it sends the first picture with
the box; the clock stops when the service lists a sample kept for motion that it did not list before.
"""

import asyncio
import time
from collections import deque

import httpx2
import numpy as np
from numpy.typing import NDArray

from bench.report import Figure, median_figure, p95_figure
from bench.rig import RATE, cameras, clip, livelens
from tests.support.rtsp_server import Mount

QUIET_S = 2.6
LOOP_S = 3.4
ONSET = round(QUIET_S * RATE)
POLL_S = 0.01
SLACK_US = 1_000_000  # the room was quiet for longer before


def jumping_box(picture: NDArray[np.uint8], number: int) -> None:
    """Show nothing for 2.6 s, then a box that moves until the clip starts again."""
    if number < ONSET:
        return
    height, width = picture.shape[:2]
    left = width // 8 + (number - ONSET) * width // 40
    picture[height // 3 : 2 * height // 3, left : left + width // 5] = (200, 60, 40)


async def measure(*, quick: bool) -> list[Figure]:
    """Return median and 95th percentile over the box's appearances."""
    wanted = 10 if quick else 40
    path = clip("glass", (1280, 720), LOOP_S, jumping_box)
    delays: list[float] = []
    async with (
        cameras({"cam": Mount([path], report=[ONSET])}) as server,
        livelens(["serve", "--camera", f"cam={server.url('cam')}"]) as service,
        httpx2.AsyncClient(base_url=service.url, trust_env=False) as client,
    ):
        await service.until_state("cam", "online")
        from_us = _wall_us() + round(LOOP_S * 1e6)
        scheduled: deque[int] = deque()
        async with asyncio.timeout((wanted + 4) * LOOP_S):
            while len(delays) < wanted:
                scheduled.extend(
                    sent.wall_us for sent in server.sent()
                )  # the server queues pictures ahead of their time
                if not scheduled:
                    await asyncio.sleep(POLL_S)
                elif (sent_us := scheduled.popleft()) > from_us:
                    delays.append(await _delay_s(client, sent_us))
    return [median_figure("glass.median", delays, "s"), p95_figure("glass.p95", delays, "s")]


async def _delay_s(client: httpx2.AsyncClient, sent_us: int) -> float:
    """Wait for the appearance sent at ``sent_us``; return how long after it the sample was listed."""
    await asyncio.sleep(max(0.0, (sent_us - _wall_us()) / 1e6))
    while True:
        frames = (await client.get("/api/v1/cameras/cam/frames?last_s=3")).json()["frames"]
        seen_us = _wall_us()
        if any(frame["reason"] == "motion" and frame["t_us"] > sent_us - SLACK_US for frame in frames):
            return (seen_us - sent_us) / 1e6
        await asyncio.sleep(POLL_S)


def _wall_us() -> int:
    return time.time_ns() // 1000
