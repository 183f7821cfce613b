"""A world for tests of the page in which every picture says when it was taken: its colour tells its time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import cv2
import numpy as np

from core.cameras import CameraState, Source, StateReport
from core.frames import KeepReason
from core.ids import CameraId, make_frame_ref
from core.records import Colour, Direction, EpochClock, Gap, GapReason, ObjectTrack, Side, StaticSpan
from featcache.window import StoredFrame
from tests.support.web_fakes import BERLIN, GATE, World
from web.ports import CameraStatus, NewCamera
from web.server import Server, listen
from web.settings import WebSettings

SECOND_US = 1_000_000
PAST_S = 240
SHED = CameraId("shed")


def colour_at(t_us: int) -> tuple[int, int, int]:
    """Return the colour (red, green, blue) of every picture taken in that second; no two near ones are alike."""
    second = t_us // SECOND_US
    return (40 + second * 53 % 176, 40 + second * 97 % 176, 40 + second * 29 % 176)


def picture(t_us: int) -> bytes:
    """Return a JPEG of one colour, ``colour_at(t_us)``."""
    pixels = np.full((180, 320, 3), colour_at(t_us)[::-1], np.uint8)
    _, coded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return coded.tobytes()


@dataclass
class Stage:
    """The world, where it is served, and when its gate was filled up to (whole seconds)."""

    world: World
    address: str
    filled_us: int

    @property
    def url(self) -> str:
        return f"http://{self.address}/"


@asynccontextmanager
async def staged(world: World | None = None) -> AsyncIterator[Stage]:
    """Serve a gate that is online, with four minutes behind it, and a shed whose password is wrong."""
    world = world or World(settings=WebSettings(shutdown_s=0.5))
    world.preview.period_s = 0.1
    world.asker.words = None
    world.asker.pause_s = 0.02
    await world.add_camera(GATE)
    await world.registry.add(NewCamera(SHED, "Shed", Source("rtsp://10.0.0.6/live"), BERLIN))
    now_us = world.clock.now_us() // SECOND_US * SECOND_US
    await _fill(world, now_us)
    report = StateReport(
        CameraState.ONLINE, now_us - 60 * SECOND_US, clock=EpochClock.MEDIA, reconnects=1, last_t_us=now_us,
        width_px=1280, height_px=720, codec="h264",
    )  # fmt: skip
    world.registry.set_status(GATE, CameraStatus(report, (("motion", 40),), 25.0, 0.21, "measured"))
    refused = replace(
        world.registry.status(SHED).report,
        state=CameraState.AUTH_FAILED,
        code="auth_failed",
        message="the camera refused name or password",
    )
    world.registry.set_status(SHED, CameraStatus(refused, (), 0.0, None, "measured"))
    async with served(world) as address, _moving(world, now_us):
        yield Stage(world, address, now_us)


async def _keep(world: World, t_us: int, reason: KeepReason, motion: float) -> None:
    frame = StoredFrame(
        make_frame_ref(GATE, t_us),
        GATE,
        t_us,
        t_us // SECOND_US,
        reason,
        motion,
        False,
        picture(t_us),
        320,
        180,
    )
    await world.window.put(frame, incarnation=world.registry.get(GATE).incarnation)


async def _fill(world: World, now_us: int) -> None:
    """A sample a second, moving in the newest minute's first half; before it a gap of 20 s and rest."""

    def ago(seconds: int) -> int:
        return now_us - seconds * SECOND_US

    for seconds in range(PAST_S, 0, -1):
        if not 120 < seconds <= 140:
            moving = 30 <= seconds < 60
            reason = KeepReason.MOTION if moving else KeepReason.HEARTBEAT
            await _keep(world, ago(seconds), reason, 0.06 if moving else 0.0)
    for record in (
        Gap(ago(140), ago(120), GapReason.UNREACHABLE),
        StaticSpan(ago(120), ago(60)),
        StaticSpan(ago(30), ago(1)),
        ObjectTrack(
            1, ago(60), ago(30), False, Side.LEFT, Side.RIGHT, Direction.RIGHT, 0.04, Colour.WHITE, ()
        ),
    ):
        await world.window.put_record(GATE, record, incarnation=world.registry.get(GATE).incarnation)


@asynccontextmanager
async def _moving(world: World, next_us: int) -> AsyncIterator[None]:
    """Change the live picture's colour five times a second, and keep a sample every second from ``next_us`` on."""

    async def move() -> None:
        due_us, number = next_us, 0
        while True:
            world.preview.picture = picture(number * SECOND_US)
            while due_us <= world.clock.now_us():
                await _keep(world, due_us, KeepReason.HEARTBEAT, 0.0)
                due_us += SECOND_US
            number += 1
            await asyncio.sleep(0.2)

    world.preview.picture = picture(0)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(move(), name="test:moving")
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def served(world: World, port: int = 0) -> AsyncIterator[str]:
    """Serve the world's application on a loopback port, which may be one used before; yield its address."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen("127.0.0.1", port))
        server = Server(world.app(), world.settings)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # a test has its own
        group = await stack.enter_async_context(asyncio.TaskGroup())
        task = group.create_task(server.serve(sockets=[listener]), name="test:server")
        while not (server.started or task.done()):  # uvicorn tells nobody
            await asyncio.sleep(0.005)
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
