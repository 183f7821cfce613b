"""A service under seeded, random trouble: cameras die, freeze, are deleted and come back while people ask.

``torment(seed, seconds)`` runs the trouble, then lets things settle and checks that all is well: every camera
online again, stream times in order, and no thread, file or memory left over. The soak test runs it for long, an
end-to-end test for a short while.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil

from tests.support.asking import ask
from tests.support.clips import Shot, constant_rate, write_clip
from tests.support.rtsp_server import Mount, RtspServer
from tests.support.service import LivelensProcess

SETTINGS = {
    "LIVELENS_INGEST__READ_TIMEOUT_S": "2",
    "LIVELENS_INGEST__LONGEST_PAUSE_S": "1",
    "LIVELENS_WINDOW__POOL_BUDGET_BYTES": str(8 << 20),
}
CAMERAS = ("gate", "yard")
QUESTIONS = (
    "what happened in the last 20 seconds?",
    "刚刚发生了什么？",
    "is something there now?",
    "what happened yesterday at noon?",
    "最近两分钟呢",
)
SETTLE_S = 20.0
DATABASE_THREADS = 5  # its pool grows with use
MEMORY_GROWTH_BYTES = 120 << 20


class Torment:
    """One run of trouble."""

    def __init__(self, seed: int, cameras: RtspServer, service: LivelensProcess) -> None:
        self._dice = random.Random(seed)
        self._cameras = cameras
        self._service = service
        self.answers = 0

    async def run(self, seconds: float) -> None:
        """Make trouble for so long."""
        troubles: tuple[Callable[[], Awaitable[None]], ...] = (
            self._question,
            self._question,
            self._question,
            self._kick,
            self._freeze,
            self._power_cut,
            self._register_anew,
            self._leave_early,
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self._dice.choice(troubles)()
            await asyncio.sleep(self._dice.uniform(0, 0.5))

    async def _question(self) -> None:
        question = {"cameras": [self._dice.choice(CAMERAS)], "text": self._dice.choice(QUESTIONS)}
        heard = await ask(self._service.url, question)
        assert heard.done.get("model") == "measured", heard
        assert heard.text, heard
        assert all(citation["verified"] for citation in heard.done["citations"]), heard
        self.answers += 1

    async def _kick(self) -> None:
        self._cameras.kick()

    async def _freeze(self) -> None:
        self._cameras.freeze()
        await asyncio.sleep(self._dice.uniform(0.2, 3.0))
        self._cameras.thaw()

    async def _power_cut(self) -> None:
        self._cameras.kill()
        await asyncio.sleep(self._dice.uniform(0.0, 2.0))
        await self._cameras.start()

    async def _register_anew(self) -> None:
        name = self._dice.choice(CAMERAS)
        began = time.monotonic()
        reply = await asyncio.to_thread(self._service.call, "DELETE", f"/api/v1/cameras/{name}")
        assert reply.status_code == 200, reply.text
        assert time.monotonic() - began < 10, "a delete that hangs"
        body = {"id": name, "source": {"url": self._cameras.url("cam")}}
        reply = await asyncio.to_thread(self._service.call, "POST", "/api/v1/cameras", body)
        assert reply.status_code == 201, reply.text

    async def _leave_early(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(self._service.url.rpartition(":")[2]))
        name = self._dice.choice(CAMERAS)
        writer.write(f"GET /api/v1/cameras/{name}/preview.mjpeg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        await writer.drain()
        await asyncio.sleep(self._dice.uniform(0, 0.5))
        writer.transport.abort()
        del reader


async def torment(folder: Path, *, seed: int, seconds: float) -> int:
    """Run it all and check that all is well afterwards; return how many questions were answered."""
    clip = write_clip(folder / "moving.mp4", [Shot(constant_rate(80))])
    async with RtspServer({"cam": Mount([clip])}) as cameras:
        words = ["serve"]
        for name in CAMERAS:
            words += ["--camera", f"{name}={cameras.url('cam')}"]
        async with LivelensProcess(words, settings=SETTINGS) as service:
            await settle(service)
            process = psutil.Process(service.pid)
            threads, files, memory = process.num_threads(), service.open_files(), process.memory_info().rss
            trouble = Torment(seed, cameras, service)
            await trouble.run(seconds)
            await settle(service)
            for name in CAMERAS:
                frames = service.get(f"/api/v1/cameras/{name}/frames?last_s=3600&limit=1000")["frames"]
                times = [frame["t_us"] for frame in frames]
                assert times == sorted(set(times))
            await service.until(
                "threads are back", lambda: process.num_threads() <= threads + DATABASE_THREADS
            )
            await service.until("files are back", lambda: service.open_files() <= files + 4)
            assert process.memory_info().rss - memory < MEMORY_GROWTH_BYTES
            assert "Traceback" not in service.log, service.log[-4000:]
    return trouble.answers


async def settle(service: LivelensProcess) -> None:
    """Wait until every camera is online with fresh frames."""
    for name in CAMERAS:
        await service.until(
            f"{name} is online",
            lambda name=name: fresh(service.camera(name)["state"]),  # type: ignore[misc]  # bound on purpose
            within_s=SETTLE_S,
        )


def fresh(state: dict[str, object]) -> bool:
    """Return whether a camera is online and its newest frame is young."""
    age = state["last_frame_age_s"]
    return state["state"] == "online" and isinstance(age, float) and age < 2
