"""Made-up cameras that move, rest and fail in a cycle, for whoever works on the page."""

import asyncio
import math
from dataclasses import replace

import cv2
import numpy as np

from core.cameras import CameraState, Source, StateReport
from core.frames import KeepReason
from core.ids import CameraId, make_frame_ref
from core.records import (
    Colour,
    Direction,
    EpochClock,
    Gap,
    GapReason,
    ObjectTrack,
    PathPoint,
    Record,
    SceneChange,
    SceneChangeKind,
    Side,
    StaticSpan,
)
from featcache.window import StoredFrame
from qa.labels import local_time
from tests.support.web_fakes import BERLIN, GATE, World
from web.ports import CameraStatus, NewCamera
from web.server import Server, listen

STEP_US = 250_000
CYCLE_S = 80
MOVING_S = (8, 26)
GAP_S = (60, 68)
LIGHT_S = 40
PAST_S = 600
DOOR = CameraId("door")


def draw(t_us: int, width_px: int = 640, height_px: int = 360) -> bytes:
    """Return the picture of one moment: a yard, a clock, and a white van while something moves."""
    phase = (t_us / 1e6) % CYCLE_S
    picture = np.empty((height_px, width_px, 3), np.uint8)
    ramp = np.linspace(0.55, 1.0, height_px)[:, None, None]
    base = (70, 90, 80) if phase < LIGHT_S else (35, 42, 52)
    picture[:] = (np.array(base) * ramp).astype(np.uint8)
    cv2.rectangle(picture, (0, height_px * 2 // 3), (width_px, height_px), (60, 60, 66), -1)
    cv2.rectangle(picture, (width_px * 3 // 5, 60), (width_px * 4 // 5, height_px * 2 // 3), (50, 62, 96), -1)
    if MOVING_S[0] <= phase < MOVING_S[1]:
        share = (phase - MOVING_S[0]) / (MOVING_S[1] - MOVING_S[0])
        x = int(-140 + share * (width_px + 140))
        y = height_px * 2 // 3 - 50 + int(3 * math.sin(phase * 6))
        cv2.rectangle(picture, (x, y), (x + 140, y + 70), (232, 236, 238), -1)
        for wheel in (28, 112):
            cv2.circle(picture, (x + wheel, y + 72), 14, (25, 25, 25), -1)
    text = f"{local_time(t_us, BERLIN):%Y-%m-%d %H:%M:%S}"
    cv2.putText(picture, text, (12, 26), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (240, 240, 240), 1, cv2.LINE_AA)
    _, coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 78])
    return coded.tobytes()


def keep_reason(t_us: int) -> tuple[KeepReason, float] | None:
    """Return whether the made-up sampler keeps this moment, and its motion."""
    phase = (t_us / 1e6) % CYCLE_S
    if GAP_S[0] <= phase < GAP_S[1]:
        return None
    if MOVING_S[0] <= phase < MOVING_S[1]:
        return KeepReason.MOTION, 0.03 + 0.05 * abs(math.sin(phase * 0.9))
    if abs(phase - LIGHT_S) < 0.2:
        return KeepReason.SCENE_CHANGE, 0.6
    if t_us % 2_000_000 < STEP_US:
        return KeepReason.HEARTBEAT, 0.001
    return None


def records_of(cycle: int, now_us: int) -> list[Record]:
    """Return the records of one cycle, as far as it has happened by ``now_us``."""
    start_us = cycle * CYCLE_S * 1_000_000

    def at(second: float) -> int:
        return min(now_us, start_us + round(second * 1e6))

    moving, gap, light = at(MOVING_S[0]), at(GAP_S[0]), at(LIGHT_S)
    found: list[Record] = []
    if moving < now_us:
        end = at(MOVING_S[1])
        points = (PathPoint(moving, 0.0, 0.6), PathPoint(end, min(1.0, (end - moving) / 18e6), 0.6))
        gone = end < now_us
        found.append(
            ObjectTrack(
                cycle,
                moving,
                end,
                not gone,
                Side.LEFT,
                Side.RIGHT if gone else None,
                Direction.RIGHT,
                0.04,
                Colour.WHITE,
                points,
            )
        )
    for first, last in (
        (0, MOVING_S[0]),
        (MOVING_S[1], LIGHT_S),
        (LIGHT_S + 1, GAP_S[0]),
        (GAP_S[1], CYCLE_S),
    ):
        if at(first) < at(last):
            found.append(StaticSpan(at(first), at(last)))
    if light < now_us:
        found.append(SceneChange(light, SceneChangeKind.LIGHT_OFF))
    if gap < now_us:
        over = at(GAP_S[1]) < now_us
        found.append(Gap(gap, at(GAP_S[1]) if over else None, GapReason.UNREACHABLE))
    return found


class LivelyCamera:
    """Fills the window of one camera as time goes."""

    def __init__(self, world: World, camera_id: CameraId, life: str) -> None:
        self._world = world
        self._id = camera_id
        self._life = life
        self._seq = 0
        self._kept: dict[str, int] = {}
        self._last_us: int | None = None

    async def step(self, t_us: int) -> None:
        """Let one moment happen."""
        found = keep_reason(t_us)
        if found is None:
            return
        reason, motion = found
        tenths = self._last_us is not None and self._last_us // 1_000_000 == t_us // 1_000_000
        frame = StoredFrame(
            make_frame_ref(self._id, t_us),
            self._id,
            t_us,
            self._seq,
            reason,
            motion,
            tenths,
            draw(t_us),
            640,
            360,
        )
        camera = self._world.registry.get(self._id)
        await self._world.window.put(frame, incarnation=camera.incarnation)
        self._seq += 1
        self._last_us = t_us
        self._kept[reason] = self._kept.get(reason, 0) + 1

    async def tell(self, now_us: int) -> None:
        """Store the records so far, and report the state."""
        camera = self._world.registry.get(self._id)
        cycle = now_us // (CYCLE_S * 1_000_000)
        for number in (cycle - 1, cycle):
            for record in records_of(number, now_us):
                await self._world.window.put_record(self._id, record, incarnation=camera.incarnation)
        away = GAP_S[0] <= (now_us / 1e6) % CYCLE_S < GAP_S[1]
        old = self._world.registry.status(self._id)
        state = CameraState.OFFLINE if away else CameraState.ONLINE
        report = StateReport(
            state,
            old.report.since_us if old.report.state is state else now_us,
            code="camera_unreachable" if away else None,
            message="the camera does not answer" if away else None,
            clock=EpochClock.MEDIA,
            reconnects=int(cycle % 100),
            frames_total=old.report.frames_total + (0 if away else 25),
            skipped=(("corrupt", 2),),
            last_t_us=old.report.last_t_us if away else now_us,
            width_px=1280,
            height_px=720,
            codec="h264",
        )
        kept = tuple((reason.value, self._kept.get(reason, 0)) for reason in KeepReason)
        status = CameraStatus(report, kept, 0.0 if away else 25.0, 0.21, "measured")
        self._world.registry.set_status(self._id, status)


async def play(host: str, port: int) -> None:
    """Serve two made-up cameras until interrupted: one lively, one that never answers."""
    world = World()
    world.preview.period_s = 0.2
    world.asker.words = None
    world.asker.pause_s = 0.09
    gate = await world.add_camera(GATE)
    await world.registry.add(NewCamera(DOOR, "Back door", Source("rtsp://10.0.0.6/live"), BERLIN))
    broken = replace(
        world.registry.status(DOOR).report,
        state=CameraState.AUTH_FAILED,
        code="auth_failed",
        message="the camera refused name or password",
    )
    world.registry.set_status(DOOR, CameraStatus(broken, (), 0.0, None, "measured"))
    camera = LivelyCamera(world, GATE, gate.incarnation)
    now_us = world.clock.now_us()
    step_us = (now_us // STEP_US - PAST_S * 4) * STEP_US
    while step_us < now_us:
        await camera.step(step_us)
        step_us += STEP_US
    for cycle in range(now_us // (CYCLE_S * 1_000_000) - PAST_S // CYCLE_S, now_us // (CYCLE_S * 1_000_000)):
        for record in records_of(cycle, now_us):
            await world.window.put_record(GATE, record, incarnation=gate.incarnation)
    with listen(host, port) as listener:
        server = Server(world.app(), world.settings)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.serve(sockets=[listener]), name="server")
            live = group.create_task(_live(world, camera, step_us), name="live")
            print(f"http://{host}:{port}/", flush=True)
            await running
            live.cancel()


async def _live(world: World, camera: LivelyCamera, step_us: int) -> None:
    told_us = 0
    while True:
        now_us = world.clock.now_us()
        while step_us <= now_us:
            await camera.step(step_us)
            step_us += STEP_US
        away = GAP_S[0] <= (now_us / 1e6) % CYCLE_S < GAP_S[1]
        if not away:
            world.preview.picture = draw(now_us)
        if now_us - told_us >= 1_000_000 and GATE in {known.id for known in world.registry.list()}:
            await camera.tell(now_us)
            told_us = now_us
        await asyncio.sleep(0.1)
