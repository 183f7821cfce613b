"""CPU seconds that one camera costs per minute: 720p25 and 1080p25 over RTSP, quiet and busy, no viewers."""

import asyncio

import psutil

from bench.report import Figure, median_figure
from bench.rig import cameras, clip, livelens, many_boxes, nothing
from tests.support.rtsp_server import Mount

SIZES = {"720p25": (1280, 720), "1080p25": (1920, 1080)}
SCENES = {"quiet": nothing, "busy": many_boxes}
WARM_UP_S = 3.0


async def measure(*, quick: bool) -> list[Figure]:
    """Return one figure per size and scene: the median over slices of the whole service's CPU time."""
    slices, slice_s = (4, 1.5) if quick else (10, 6.0)
    clips = {
        f"{size}-{scene}": clip(f"camera-{scene}", SIZES[size], 6, paint)
        for size in SIZES
        for scene, paint in SCENES.items()
    }
    figures = []
    async with cameras({name: Mount([path]) for name, path in clips.items()}) as server:
        for name in clips:
            async with livelens(["serve", "--camera", f"cam={server.url(name)}"]) as service:
                await service.until_state("cam", "online")
                await asyncio.sleep(WARM_UP_S)
                process = psutil.Process(service.pid)
                spent = []
                for _ in range(slices):
                    before = process.cpu_times()
                    await asyncio.sleep(slice_s)
                    after = process.cpu_times()
                    used_s = after.user + after.system - before.user - before.system
                    spent.append(used_s / slice_s * 60)
            size, scene = name.split("-")
            figures.append(median_figure(f"camera.{size}.{scene}.cpu_s_per_min", spent, "s"))
    return figures
